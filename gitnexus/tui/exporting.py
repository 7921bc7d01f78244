"""Writes the conversation as a Markdown file; never overwrites an existing file."""

from collections.abc import Iterable
from pathlib import Path

from gitnexus.base.errors import Failed
from gitnexus.tui.model import ChatEntry

_NAMES = {"you": "**You:** ", "agent": "> ", "output": "    ", "error": "**Error:** ", "trace": "- "}


def export_conversation(entries: Iterable[ChatEntry], project: str, path: Path) -> None:
    """Write a conversation to a new file. Raises: Failed."""
    lines = [f"# Conversation about {project}", ""]
    for entry in entries:
        lines += [f"{_NAMES.get(entry.speaker, '')}{line}" for line in entry.text.split("\n")] + [""]
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("\n".join(lines))
    except OSError as exc:
        raise Failed(f"{path.name} cannot be written: {exc.strerror}", hint="name a new file") from exc
