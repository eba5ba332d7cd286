"""Ingest: files → checked records → rows of the raw tables.

One module per input format (``readers.py`` lists them) turns bytes into rows and
problems and knows no database; ``load.py`` and ``write.py`` put the rows into it.
"""
