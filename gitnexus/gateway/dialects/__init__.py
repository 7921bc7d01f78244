"""Reads a change in the forms that models write it in, and returns the new content of each file; changes nothing."""

from gitnexus.gateway.dialects.apply import edits_of_sections
from gitnexus.gateway.dialects.parse import is_exact_diff, parse_sections

__all__ = ["edits_of_sections", "is_exact_diff", "parse_sections"]
