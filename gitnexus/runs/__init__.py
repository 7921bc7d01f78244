"""Runs: starts, drives, records, lands and cleans up the work of an agent on a branch of its own."""
