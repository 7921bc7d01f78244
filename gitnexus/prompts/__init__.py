"""Typed prompt functions."""
