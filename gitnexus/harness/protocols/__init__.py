"""Translates hook events and answers of each program: one module for each program, and one table."""
