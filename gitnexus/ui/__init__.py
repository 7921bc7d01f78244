"""What surfaces share: lazy commands, words and tables, the JSON envelope, exit codes."""
