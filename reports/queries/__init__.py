"""SELECTs on the marts, and their rows as the contracts of ``promptlab`` want them."""
