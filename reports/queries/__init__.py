"""SELECTs on the marts, which return contracts of ``promptlab``."""
