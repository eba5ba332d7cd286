"""What a page shows: rows chosen, grouped, cut and counted for a template."""
