"""Ingest: files → checked records → rows of the raw tables.

The layers, from writing rows down to reading bytes; a module imports only from layers
below it (``make check`` proves it)::

    load, parquet/        planned files into DuckDB; into Parquet
    file_reader, plan     read each file in batches; which files, in which order
    ingested              outcome of each file; problems that need all files
    formats               the kind of a file from its content, and its reader
    labels, foreign/      human labels; one module per format of another tool
    testsets pipelines analysis/ results scores memory/        one per format of ours
    checks, raw/          expectations as flat checks; raw tables, load log, writing
    reading/              bytes to records: limits, contracts, columns, problems
    files/                find, read and redact files

A format turns bytes into rows and problems, without a database. JSON itself is
``promptlab.json_text``.
"""
