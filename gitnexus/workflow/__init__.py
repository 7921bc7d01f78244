"""Workflows: what a prompt becomes, who works on it in which order, and how much it may take."""
