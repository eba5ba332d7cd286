"""The report's own words, one TOML file per language."""
