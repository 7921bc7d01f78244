"""Workflows: from a prompt to nodes with an order, specialists and budgets, and the engine that carries them out."""
