"""The data dictionary: every table and column, and what each mart is made of."""
