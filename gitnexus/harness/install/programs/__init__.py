"""The programs that git nexus installs into: one module for each program, and one table."""
