"""Runs an agent's process in a run: starts it, limits its spending, and answers its requests."""
