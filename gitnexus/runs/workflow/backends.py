"""Who stands behind each specialist in a project, where that is said, and whether it can work here."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from gitnexus.adapters.installed import found
from gitnexus.adapters.table import ADAPTERS
from gitnexus.app.prompts import prompt_settings
from gitnexus.app.workflow import workflow_settings
from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.state import State
from gitnexus.workflow.definition import EMBEDDED, MODEL, SPECIALISTS, NodeType, Specialist
from gitnexus.workflow.specialist import FUNCTIONS


class Backing(NamedTuple):
    """One specialist: who it is, what for, and what keeps it from working, empty if nothing does."""

    specialist: Specialist
    by: str
    work: tuple[NodeType, ...]
    detail: str
    missing: str = ""


def backings(state: State) -> list[Backing]:
    """Return who works here as what. Nothing is started and nobody is asked. Raises: Invalid."""
    set_ = workflow_settings(state).backed_by()
    found = []
    for name in dict.fromkeys(SPECIALISTS.values()):
        work = tuple(kind for kind, who in SPECIALISTS.items() if who == name and kind in FUNCTIONS)
        by = set_.get(name, EMBEDDED)
        detail, missing = _told(state, by, work)
        found.append(Backing(name, by, work, detail, missing))
    return found


def refuse_no_model(state: State, types: Iterable[NodeType]) -> None:
    """Refuse to begin what would ask a model that nobody set. Raises: Failed."""
    work = tuple(kind for kind in types if kind in FUNCTIONS)
    _, missing = _model(state, work) if work else ("", "")
    if missing:
        raise Failed(missing, hint="git nexus workflow specialists tells what is missing; embedded needs no model")


def _told(state: State, by: str, work: tuple[NodeType, ...]) -> tuple[str, str]:
    if by == EMBEDDED:
        return "rules, no model and no network", ""
    if by == MODEL:
        return _model(state, work)
    program = ADAPTERS[by].program
    if not program:
        return "a script", ""
    there = found(program, os.environ.get("PATH", ""))
    return (f"{there.path} {there.version}".strip(), "") if there else (program, f"{program} is not on PATH")


def _model(state: State, work: tuple[NodeType, ...]) -> tuple[str, str]:
    settings = prompt_settings(state)
    try:
        ends = [settings.endpoint_of(FUNCTIONS[kind]) for kind in work]
        for end in ends:
            end.key()
    except Failed as exc:
        return f"through {settings.via}", exc.message
    names = dict.fromkeys(f"{one_line(end.model, 60)} at {one_line(end.url, 100)}" for end in ends)
    return f"{', '.join(names)}, through {settings.via}", ""
