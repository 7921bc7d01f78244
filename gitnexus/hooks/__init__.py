"""Handles git hooks and harness hooks: the cases that the shim in githooks/ could not settle by itself."""
