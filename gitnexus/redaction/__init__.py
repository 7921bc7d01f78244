"""Pure masking: what a secret looks like, by rule, and never its value."""

from gitnexus.redaction.scan import Finding, find_secrets, mask

__all__ = ["Finding", "find_secrets", "mask"]
