"""How each program talks: one file a program, one table."""
