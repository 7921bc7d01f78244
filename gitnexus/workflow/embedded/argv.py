"""Extracts commands from a text as argument lists, with the reason if a line is not a command. Pure."""

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from gitnexus.base.text import one_line
from gitnexus.workflow.embedded.outline import CodeBlock

SHELLS = frozenset({"sh", "bash", "shell", "console", "zsh", "terminal", "cmd", "command", "commands", "shell-session"})
DIFFS = frozenset({"diff", "patch", "udiff"})
_SPAN = re.compile(r"`([^`\n]{1,500})`")
# Said right before a command, or right after it.
_RUN = re.compile(
    r"(?:\b(?:run|runs|running|execute|executing|call|calling|invoke|type|with|by|via|using|start|führe|starte|command)"
    r"(?:\s+(?:the\s+)?(?:command|tests?\s+with))?[:\s]*)$",
    re.IGNORECASE,
)
# The text after this replaces another one.
_IN_ITS_PLACE = re.compile(
    r"\b(?:replac|substitut|swap|exchang|ersetz)\w*\s(?:(?!\b(?:and|then|und|dann)\b)[^,;.`\n]|`[^`\n]*`)*"
    r"\b(?:by|with|via)[:\s]*$",
    re.IGNORECASE,
)
_HOLDS = re.compile(
    r"^\s*(?:\(?still\)?\s+)?(?:(?:must|should|has\s+to|will)\s+)?(?:be\s+|is\s+|are\s+|stays?\s+)?"
    r"(?:pass(?:es)?|succeeds?|green|clean|work(?:s)?|exits?\s+(?:with\s+)?(?:status\s+)?0|run(?:s)?\s+(?:clean|through)|"
    r"prints?|reports?\s+no|finds?\s+nothing|ausführen|läuft)\b",
    re.IGNORECASE,
)
# What only a shell understands; none is ever asked.
_SHELL = re.compile(r"[|<>;&]|\$\(|\$\{|\$\w|`|(?:^|\s)(?:\*|~/)|[*?](?=\s|$)")
_PROGRAM = re.compile(r"[A-Za-z0-9_./+-]+")


class FoundCommands(NamedTuple):
    """Commands, and lines that look like a command but are not, with the reason."""

    commands: tuple[tuple[str, ...], ...] = ()
    refused: tuple[str, ...] = ()


def parse_command_line(line: str) -> tuple[str, ...] | str:
    """Return the words of a command line, or why it cannot be run as it is."""
    try:
        words = tuple(shlex.split(line.strip().removeprefix("$ "), comments=False))
    except ValueError as exc:
        return f"`{one_line(line, 120)}` is no command: {exc}"
    if not words:
        return "an empty line is not a command"
    # Quoted signs are plain letters; outside of quotes they would need a shell.
    bare = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "", line)
    if _SHELL.search(bare):
        return f"`{one_line(line, 120)}` needs a shell, and commands are lists of words: write a script"
    if re.fullmatch(r"\w+=.*", words[0]):
        return f"`{one_line(line, 120)}` sets a variable first: write env {one_line(words[0], 40)} before the program"
    if not _PROGRAM.fullmatch(words[0]):
        return f"`{one_line(line, 120)}` does not begin with the name of a program"
    return words


def commands_in_blocks(blocks: Iterable[CodeBlock]) -> FoundCommands:
    """Return the commands in shell code blocks, line by line, without output and comments."""
    commands: list[tuple[str, ...]] = []
    refused: list[str] = []
    for block in blocks:
        if block.language not in SHELLS:
            continue
        for line in _command_lines(block):
            found = parse_command_line(line)
            if isinstance(found, str):
                refused.append(found)
            else:
                commands.append(found)
    return FoundCommands(tuple(commands), tuple(refused))


def commands_in_sentence(text: str) -> FoundCommands:
    """Return the commands in a sentence: inline code that is to be run, or to pass."""
    commands: list[tuple[str, ...]] = []
    refused: list[str] = []
    for found in _SPAN.finditer(text):
        prompted = found[1].startswith("$ ")
        before = text[max(0, found.start() - 200) : found.start()]
        if not (
            prompted
            or (_RUN.search(before[-80:]) and not _IN_ITS_PLACE.search(before))
            or _HOLDS.match(text[found.end() : found.end() + 80])
        ):
            continue
        argv = parse_command_line(found[1])
        if isinstance(argv, str):
            refused.append(argv)
        elif prompted or _looks_like_command(argv):
            commands.append(argv)
    return FoundCommands(tuple(dict.fromkeys(commands)), tuple(refused))


def _looks_like_command(argv: tuple[str, ...]) -> bool:
    """Return True unless it is more likely the name of a file, a function or an option."""
    first = argv[0]
    if len(argv) == 1 and ("." in first or "_" in first or first[:1].isupper()) and "/" not in first:
        return False
    return not first.startswith("-")


def _command_lines(block: CodeBlock) -> list[str]:
    """Return the command lines of a block; a backslash at the end continues a line."""
    joined = re.sub(r"\\\n[ \t]*", " ", block.text)
    lines = [line.strip() for line in joined.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    session = [line for line in lines if line.startswith("$ ")]
    return session or lines
