"""Test runners: how each is called, and what its output says; pure functions, nothing is run here."""
