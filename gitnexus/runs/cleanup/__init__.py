"""Cleans up finished runs without losing work."""
