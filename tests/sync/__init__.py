"""Clones that meet."""
