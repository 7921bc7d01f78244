"""Finds a denied program that a command runs by another name: through a link, or a name that leads to it on PATH.

Rules name programs by their words. `env ./tool` and `sh -c ./tool` run what the link `tool` leads to, and
`env python3` runs `python3.11`. Looks at the disk, and only if a rule denies some program.
"""

import os
import posixpath
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gitnexus.base.text import one_line
from gitnexus.policy.compiled_rules import CompiledPolicy
from gitnexus.policy.model import CommandRequest, GateDecision
from gitnexus.policy.parts import CommandPart, parts_of_command
from gitnexus.policy.programs import rests_of_unlisted, unwrap_command
from gitnexus.policy.rules import PolicyRule

# A bound on the words of one command that are looked up.
_MOST_LOOKS = 100
# Is told each path or name that was looked up, and where it leads.
NoteLook = Callable[[str, str], None]


def find_linked_denial(
    request: CommandRequest, policy: CompiledPolicy, parts: Sequence[CommandPart] = (), note: NoteLook | None = None
) -> tuple[str, PolicyRule] | None:
    """Return the first program of a command that leads to a denied one, as a reason, and the rule. Raises: TooMuch."""
    if not policy.deny.has_run_rules:
        return None
    left = _MOST_LOOKS
    for line, folder in _lines(parts or parts_of_command(request.argv, request.cwd)):
        left -= 1
        if left < 0:
            return None
        real = _real_program(line[0], folder)
        if note is not None and real:
            note(posixpath.join(folder, line[0]) if "/" in line[0] else line[0], real)
        for _, rule in policy.deny.runs_for(request, (real, *line[1:])) if real else ():
            return f"{one_line(line[0], 80)} leads to {one_line(real, 120)}: {rule.line}", rule
    return None


def deny_linked_program(request: CommandRequest, policy: CompiledPolicy, found: GateDecision) -> GateDecision:
    """Return the decision, or a denial if the command runs a denied program by another name. Raises: TooMuch."""
    linked = find_linked_denial(request, policy) if found.verdict != "deny" else None
    if linked is None:
        return found
    return found.changed(verdict="deny", rule=linked[1].id, why=linked[0], instead="another program")


def _lines(parts: Sequence[CommandPart]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every command line that may be run, with each folder in which it may."""
    for part in parts:
        if part.argv and part.argv[0]:
            whole = (part.argv, *rests_of_unlisted(part.argv))
            lines = dict.fromkeys(line for one in whole for line in unwrap_command(one) if line and line[0])
            yield from ((line, folder) for line in lines for folder in part.folders)


def _real_program(word: str, folder: str) -> str:
    """Return the file that a word leads to as a program, empty if there is none."""
    if "\0" in word or word.startswith("-") or len(word) > 1000:
        return ""
    path = posixpath.join(folder, word) if "/" in word else shutil.which(word)
    return os.path.realpath(path) if path and Path(path).is_file() else ""
