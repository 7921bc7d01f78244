"""Faults at the n-th change of the file system: the library that makes them, the commands, and what must hold after."""
