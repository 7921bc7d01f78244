"""The law: what may be read, written and run; the gate that asks it, and the canonical form of what is judged."""

from gitnexus.policy.denied import DENIED, denied_by

__all__ = ["DENIED", "denied_by"]
