"""The policy: rules on what may be read, written and run, the gate that applies them, tokens, and approver keys."""

from gitnexus.policy.denied import DENIED, denied_by

__all__ = ["DENIED", "denied_by"]
