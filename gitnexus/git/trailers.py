"""Trailers of a commit message, read and written from its raw text: git's own tool runs configured commands."""

import re

PREFIX = "Nexus-"
_TRAILER = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]*): (.*)$")
# What `git cherry-pick -x` writes among the trailers.
_PICKED = re.compile(r"^\(cherry picked from commit [0-9a-f]{7,64}\)$")
_SCISSORS = re.compile(r"^\S+ -{24} >8 -{24}$")


def last_paragraph(message: str) -> list[tuple[str, str]]:
    """Return the trailers of a message: its last paragraph, if every line of it is one or goes on with one."""
    paragraphs = re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip("\n"))
    found: list[tuple[str, str]] = []
    for line in paragraphs[-1].split("\n") if len(paragraphs) > 1 else []:
        row = _TRAILER.match(line)
        if row:
            found.append((row[1], row[2].strip()))
        elif not (found and (line[:1] in (" ", "\t") or _PICKED.match(line))):
            return []
    return found


def ours(message: str) -> list[tuple[str, str]]:
    """Return the trailers of git nexus in a message."""
    return [(key, value) for key, value in last_paragraph(message) if key.startswith(PREFIX)]


def body_and_rest(text: str, comment: str) -> tuple[str, str]:
    """Split a message file into the message and what git will strip: comments at its end, or below the scissors.

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


def keeping(text: str, kept: list[tuple[str, str]], comment: str) -> str:
    """Return a message file in which every one of `kept` stands among the trailers; the rest is as it was."""
    body, rest = body_and_rest(text, comment)
    message = "\n".join(line for line in body.split("\n") if not comment or not line.startswith(comment))
    if not message.strip():
        return text  # an empty message aborts the commit: leave that to git
    there = last_paragraph(message)
    missing = [pair for pair in kept if pair not in there]
    if not missing:
        return text
    lines = "\n".join(f"{key}: {value}" for key, value in missing)
    joined = body.rstrip("\n") + ("\n" if there else "\n\n") + lines + "\n"
    return joined + (rest if not rest or rest.startswith("\n") else "\n" + rest)
