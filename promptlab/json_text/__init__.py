"""JSON for every part of promptlab: reading, places, messages and writing.

``reading``
    Text to values. A fast reader for valid text; an exact one that reports every error
    of invalid text with line, column and JSON Pointer.
``places``
    Path to line and column, in valid text.
``writing``
    Values to text: compact, canonical, and as DuckDB writes them.

The table of rules is in docs/formats.md: how each kind of input treats repeated keys,
NaN, numbers beyond a double, lone surrogates, invalid UTF-8 and deep nesting.
"""
