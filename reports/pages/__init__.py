"""Templates filled in: the environment they see, and the links of a page."""
