"""The gate: a policy's rules held against a task's numbers, and the verdict."""
