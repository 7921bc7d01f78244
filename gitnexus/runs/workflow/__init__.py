"""Carries out a workflow in a run."""
