"""JSON: reading, places, wording and writing, for every part of promptlab.

``reading``
    Text to values. A fast reader for good text; an exact one that names every error of
    bad text with line, column and JSON Pointer.
``places``
    Path to line and column, in text that is already known to be good.
``writing``
    Values to text: compact, canonical, and as DuckDB writes them.

docs/formats.md has the table of rules: what each kind of input does with a repeated
key, NaN, a number beyond a double, half of a surrogate pair, bad UTF-8 and deep
nesting.
"""
