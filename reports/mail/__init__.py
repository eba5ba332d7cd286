"""The mail of a task: its content, and the message with its parts."""
