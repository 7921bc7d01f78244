"""Decides which form a change is written in, and parses it into sections. Pure."""

import re
from collections.abc import Sequence

from gitnexus.base.errors import Invalid
from gitnexus.gateway.dialects.blocks import (
    fenced_blocks,
    has_search_blocks,
    parse_search_blocks,
    parse_whole_files,
)
from gitnexus.gateway.dialects.envelope import BEGIN, parse_envelope
from gitnexus.gateway.dialects.model import FileSection
from gitnexus.gateway.dialects.unified import begins_file, parse_unified

_EXACT = re.compile(r"(?:diff --git \"?a/|--- (?:\"?a/|/dev/null))")
_FORMS = "a unified diff, *** Begin Patch, search/replace blocks, or whole files in blocks that name their path"


def is_exact_diff(text: str) -> bool:
    """Return True for a text that git itself reads as a diff: it begins with one, and paths have a/ and b/."""
    lines = text.split("\n")
    if not _EXACT.match(text):
        return False
    named = [(line, lines[at + 1]) for at, line in enumerate(lines) if line[:4] == "--- " and begins_file(lines, at)]
    return all(
        old.startswith(("--- a/", '--- "a/', "--- /dev/null"))
        and new.startswith(("+++ b/", '+++ "b/', "+++ /dev/null"))
        for old, new in named
    )


def parse_sections(text: str) -> list[FileSection]:
    """Return what a text says about each file, in whatever form. Raises: Invalid, worded for its author."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if lines and all(line.endswith("\r") for line in lines):
        lines = [line[:-1] for line in lines]
    found = _parse_by_form(lines)
    if not found:
        raise Invalid("there is no change in a known form", hint=f"write {_FORMS}")
    targets = [path for section in found for path in {section.source, section.target} if path]
    twice = next((path for path in targets if targets.count(path) > 1), None)
    if twice is not None:
        raise Invalid(f"{twice[:80]} is changed twice", hint="say all changes of a file in one place")
    return found


def _parse_by_form(lines: Sequence[str]) -> list[FileSection]:
    if has_search_blocks(lines):
        return parse_search_blocks(lines)
    begun = [at for at, line in enumerate(lines) if line.rstrip() == BEGIN]
    if begun:
        return [
            one
            for at, end in zip(begun, [*begun[1:], len(lines)], strict=True)
            for one in parse_envelope(lines[at:end], at + 1)
        ]
    if _is_diff(lines) and not lines[0].startswith(("```", "~~~")):
        inside = _diff_in_fences(lines)
        return inside or parse_unified(lines)
    blocks = fenced_blocks(lines)
    diffs = [one for block in blocks if _is_diff(block.lines) for one in parse_unified(block.lines, block.row + 1)]
    whole = parse_whole_files([block for block in blocks if not _is_diff(block.lines)])
    if diffs and whole:
        raise Invalid("it mixes diffs and whole files", hint="write all of it in one form")
    return diffs or whole


def _diff_in_fences(lines: Sequence[str]) -> list[FileSection]:
    """Return the sections of the diffs in fenced blocks; none if the text itself is the diff."""
    first = next((at for at, line in enumerate(lines) if line.startswith(("```", "~~~"))), len(lines))
    if _is_diff(lines[:first]):
        return []
    blocks = [block for block in fenced_blocks(lines) if _is_diff(block.lines)]
    return [section for block in blocks for section in parse_unified(block.lines, block.row + 1)]


def _is_diff(lines: Sequence[str]) -> bool:
    return any(line.startswith("diff --git ") or begins_file(lines, at) for at, line in enumerate(lines))
