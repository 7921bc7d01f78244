"""The programs that we install for: one file a program, one table."""
