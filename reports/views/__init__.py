"""View models of pages: rows selected, grouped, cut and counted for a template."""
