"""Pure masking: what a secret looks like, by rule, and never its value."""

from gitnexus.redaction.redact import Redactor, mask, redact
from gitnexus.redaction.result import Hidden, Redacted, Reveal
from gitnexus.redaction.scan import Finding, find_secrets
from gitnexus.redaction.values import Values

__all__ = ["Finding", "Hidden", "Redacted", "Redactor", "Reveal", "Values", "find_secrets", "mask", "redact"]
