"""Shared by all surfaces: lazily imported commands, text and table output, the JSON envelope, exit codes."""
