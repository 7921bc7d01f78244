"""Runs commands in a sandbox: resource limits, a clean environment, and kernel restrictions on files and network."""
