"""Files as bytes: found, read whole or in blocks of lines, secrets taken out."""
