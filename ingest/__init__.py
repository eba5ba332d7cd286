"""Ingest: files → checked records → rows of the raw tables.

The rooms, from where rows are written down to where bytes come in; a room imports only
from those below it (``make check`` proves it)::

    load, parquet/        planned files into DuckDB; into Parquet
    file_reader, plan     each file read in batches; which files, in which order
    closing, same_ids,    what shows only when all files are read
    references
    undated               the time of runs whose files hold none
    formats, kinds        the reader of each kind; the kind of a file from its content
    foreign/              one module per format of another tool
    testsets/ pipelines analysis/ results/ scores memory/      one per format of ours
    checks, raw/          expectations as flat checks; raw tables, load log, writing
    reading/              bytes to records: limits, JSON, YAML, places, problems
    files/                files found, cut into blocks, redacted

A format turns bytes into rows and problems, and knows no database.
"""
