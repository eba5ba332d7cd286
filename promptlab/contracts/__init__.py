"""The file formats of promptlab as pydantic models: no I/O, no database."""
