"""All texts of reports and commands: one TOML file per language."""
