"""Ingest: files → checked records → rows of the raw tables.

The layers, from writing rows down to reading bytes; a module imports only from layers
below it (``make check`` proves it)::

    load, parquet/        planned files into DuckDB; into Parquet
    file_reader, plan     read each file in batches; which files, in which order
    across_files          problems that need all files of a call
    ingested              outcome of each file
    times_of_runs         times of runs that say none
    formats               the kind of a file of ours, and the reader of each kind
    labels, foreign/      human labels; one module per format of another tool
    testsets pipelines analysis/ results scores memory/        one per format of ours
    checks, raw/          expectations as flat checks; raw tables, load log, writing
    reading/              bytes to records: limits, contracts, columns, problems
    files/                find, read and redact files

The path of a file, in one minute::

    plan          1. Find it, and recognise its kind by its first bytes: FoundFile
    raw.load_log  2. Ask once for the earlier loads of the files of the call: Known
    file_reader   3. Read and hash it; if `Known.load_of` has a load of this content,
                     it ends here
    redaction     4. Take secrets, comments and half surrogates out of the bytes; the
                     reader gets the rest as a Source. That of a tool does this itself
    formats       5. Give it to the reader of its kind: Readings with rows of the valid
                     records, and problems of the others. A record is decoded into a
                     struct; what the struct refuses, its contract judges, and
                     ``json_text`` finds the place of each error
    file_reader   6. Add what the file does not say: options of the call, its time,
                     whether it is a copy: a FileLoad, in one or several ReadBatches
    raw.write     7. Append the rows with the number of their load, in one transaction;
                     no row is changed
    raw.live      8. Compute what counts: of each object its newest load, as the models
                     of the schema `live` say; staging reads these
    load          9. Add the warnings that need all files of the call

`load` calls all of these but the first, which `Warehouse.ingest` calls.

Rows leave the raw tables in one way: ``promptlab purge`` says of each table which go,
and writes the file again (``promptlab/operations/purge.py``).

A format turns bytes into rows and problems, without a database. JSON itself is
``promptlab.json_text``; which JSON each format accepts is one table in docs/formats.md.
"""
