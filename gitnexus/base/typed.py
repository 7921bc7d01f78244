"""Holds the command line that the user typed, so that error messages and audit entries in lower rooms can name it."""

from contextvars import ContextVar

# Without `git nexus`; empty where nobody typed anything: in a program that uses this one, in a test.
COMMAND: ContextVar[str] = ContextVar("command", default="")
