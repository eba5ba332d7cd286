"""Stories: whole suites as data, built once and asked many questions."""
