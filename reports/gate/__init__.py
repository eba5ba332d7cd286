"""The gate: apply a policy's rules to a task's numbers."""
