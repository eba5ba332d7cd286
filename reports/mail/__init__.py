"""The mail of a task: what it shows, and the message with its parts."""
