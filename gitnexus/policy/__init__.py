"""The law: what may be read, written and run. So far the list of paths that hold secrets by their name."""

from gitnexus.policy.denied import DENIED, denied_by

__all__ = ["DENIED", "denied_by"]
