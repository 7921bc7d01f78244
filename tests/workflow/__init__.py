"""Workflows: definitions, macros, the router, budgets."""
