"""Adapters: what is started, and what is read from it."""
