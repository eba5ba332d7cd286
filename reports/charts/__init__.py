"""Charts: points and bars for inline SVG, and the picture of a mail."""
