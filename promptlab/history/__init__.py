"""Tasks over time: comparisons, baselines, the gate, written reports."""
