"""Lands a run's commits on a branch, verifies commits, and creates pull requests."""
