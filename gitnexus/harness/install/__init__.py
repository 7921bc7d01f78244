"""Adds our entries to the configuration files of programs, and removes them again byte for byte."""
