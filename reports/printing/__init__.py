"""How values and texts of others are printed: units, clipping, hidden characters."""
