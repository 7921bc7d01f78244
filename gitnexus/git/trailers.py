"""Reads and writes the trailers of a raw commit message. Git's own tool is not used: it runs configured commands."""

import re

PREFIX = "Nexus-"
_TRAILER = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]*): (.*)$")
# What `git cherry-pick -x` writes among the trailers.
_PICKED = re.compile(r"^\(cherry picked from commit [0-9a-f]{7,64}\)$")
_SCISSORS = re.compile(r"^\S+ -{24} >8 -{24}$")


def trailers_of_message(message: str) -> list[tuple[str, str]]:
    """Return the trailers of a message: its last paragraph, if every line is a trailer or continues one."""
    paragraphs = re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip("\n"))
    found: list[tuple[str, str]] = []
    for line in paragraphs[-1].split("\n") if len(paragraphs) > 1 else []:
        row = _TRAILER.match(line)
        if row:
            found.append((row[1], row[2].strip()))
        elif not (found and (line[:1] in (" ", "\t") or _PICKED.match(line))):
            return []
    return found


def nexus_trailers(message: str) -> list[tuple[str, str]]:
    """Return the `Nexus-…` trailers of a message."""
    return [(key, value) for key, value in trailers_of_message(message) if key.startswith(PREFIX)]


def split_message_file(text: str, comment: str) -> tuple[str, str]:
    """Split a message file into the message and what git strips: comments at its end, or below the scissors line.

    Without a comment character, as after `git commit -m`, nothing is stripped.
    """
    lines = text.split("\n")
    if not comment:
        return text.rstrip("\n"), ""
    for at, line in enumerate(lines):
        if _SCISSORS.match(line) and line.startswith(comment):
            return "\n".join(lines[:at]), "\n".join(lines[at:])
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].startswith(comment)):
        end -= 1
    return "\n".join(lines[:end]), "\n".join(lines[end:])


def with_trailers(text: str, kept: list[tuple[str, str]], comment: str) -> str:
    """Return a message file whose trailers include all of `kept`; the rest is unchanged."""
    body, rest = split_message_file(text, comment)
    message = "\n".join(line for line in body.split("\n") if not comment or not line.startswith(comment))
    if not message.strip():
        return text  # an empty message aborts the commit: leave that to git
    there = trailers_of_message(message)
    missing = [pair for pair in kept if pair not in there]
    if not missing:
        return text
    lines = "\n".join(f"{key}: {value}" for key, value in missing)
    joined = body.rstrip("\n") + ("\n" if there else "\n\n") + lines + "\n"
    return joined + (rest if not rest or rest.startswith("\n") else "\n" + rest)
