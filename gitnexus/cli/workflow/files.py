"""Reads the file that a command names, and writes a new one."""

import sys
from pathlib import Path

import click

from gitnexus.base.errors import Failed, NotFound
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import start_folder
from gitnexus.workflow.definition import LARGEST


def _given_path(name: str) -> Path:
    return start_folder(current_invocation(click.get_current_context())) / expand_home(name)


def read_given_file(name: str) -> bytes:
    """Return the bytes of a file, or of stdin for -, at most one more than the limit. Raises: NotFound."""
    if name == "-":
        return sys.stdin.buffer.read(LARGEST + 1)
    try:
        with _given_path(name).open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as exc:
        raise NotFound(f"{one_line(name, 200)} cannot be read: {exc.strerror}") from exc


def write_new_file(name: str, raw: bytes) -> Path:
    """Write a file that does not exist yet, and return its path. Raises: Failed."""
    place = _given_path(name)
    try:
        with place.open("xb") as file:
            file.write(raw)
    except FileExistsError as exc:
        raise Failed(f"{one_line(name, 200)} already exists", hint="name a new file") from exc
    except OSError as exc:
        raise Failed(f"{one_line(name, 200)} cannot be written: {exc.strerror}") from exc
    return place
