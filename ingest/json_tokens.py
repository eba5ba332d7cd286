"""What a JSON text is made of, as patterns: a string, and what opens and closes."""

from __future__ import annotations

import re

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A string as a whole, line breaks included where ``.`` matches them (``re.DOTALL``).
Possessive, so that one of any length takes one step and no memory."""

STRINGS = re.compile(STRING, re.DOTALL)

# The closing quote may lack: a text that is cut off ends in a string.
STRINGS_AND_BRACKETS = re.compile(rf"{STRING}?|[][{{}}]", re.DOTALL)

STRINGS_AND_NUMBERS = re.compile(
    rf"{STRING}|-?(?:NaN|Infinity)|-?[0-9][0-9.eE+-]*", re.DOTALL
)
"""With what readers take for a number and JSON does not know."""
