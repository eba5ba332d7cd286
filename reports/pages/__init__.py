"""Render templates: their environment, and the links of a page."""
