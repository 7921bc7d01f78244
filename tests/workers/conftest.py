"""The clones and the hub of the sync tests."""

from tests.sync.conftest import ada, bob, hub

__all__ = ["ada", "bob", "hub"]
