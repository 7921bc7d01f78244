"""Test runners: the command line of each, and the parser of its output; pure, runs nothing."""
