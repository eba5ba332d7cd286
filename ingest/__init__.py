"""Ingest: files → checked records → rows of the raw tables.

The layers, from writing rows down to reading bytes; a module imports only from layers
below it (``make check`` proves it)::

    load, parquet/        planned files into DuckDB; into Parquet
    file_reader, plan     read each file in batches; which files, in which order
    across_files          problems that need all files of a call
    ingested              outcome of each file
    times_of_runs         times of runs that say none
    formats               the kind of a file from its content, and its reader
    labels, foreign/      human labels; one module per format of another tool
    testsets pipelines analysis/ results scores memory/        one per format of ours
    checks, raw/          expectations as flat checks; raw tables, load log, writing
    reading/              bytes to records: limits, contracts, columns, problems
    files/                find, read and redact files

The path of a file::

    plan          FoundFile: its path and kind; files of a run of another tool together
    file_reader   FileLoad: its hash; ``Known.seen`` ends the path of a known file
    redaction     bytes without secrets and comments; all that follows sees only these
    a format      Reading: rows of valid records, problems of the others. A record is
                  decoded into a struct; what the struct refuses, its contract judges,
                  and ``json_text`` finds the place of each error
    file_reader   ReadBatch: options of the call, time, copies; the whole file or a part
    raw.write     rows with their ``load_id`` in one transaction; nothing is changed
    raw.live      what counts: of each object its newest load, as the models of the
                  schema `live` say; staging reads these
    load          warnings that need all files, from the tables

Rows leave the raw tables in one way: ``promptlab purge`` says of each table which go,
and writes the file again (``promptlab/operations/purge.py``).

A format turns bytes into rows and problems, without a database. JSON itself is
``promptlab.json_text``; which JSON each format accepts is one table in docs/formats.md.
"""
