"""Tasks beside each other: comparisons, baselines, the gate, what has its report."""
