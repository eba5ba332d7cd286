"""Formatting of values and untrusted texts: units, clipping, hidden characters."""
