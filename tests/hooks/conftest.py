"""The project and the programs of the harness tests."""

from tests.harness.conftest import place, program

__all__ = ["place", "program"]
