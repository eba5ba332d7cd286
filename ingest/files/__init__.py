"""Files as bytes: find them, read them whole or in blocks of lines, redact secrets."""
