"""What promptlab reads and writes, as pydantic models: no I/O, no database."""
