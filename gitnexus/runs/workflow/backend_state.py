"""Tells whether a backend (an agent's program, a model, rules) can work here, and what it lacks if it cannot."""

import os

from gitnexus.adapters.installed import find_program
from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.prompts.clients import chat_client
from gitnexus.prompts.in_project import read_prompt_settings
from gitnexus.state import State
from gitnexus.workflow.definition import NodeType
from gitnexus.workflow.run_definition import EMBEDDED, MODEL
from gitnexus.workflow.specialist import FUNCTIONS


def describe_backend(state: State, by: str, work: tuple[NodeType, ...]) -> tuple[str, str]:
    """Return what a backend is, and what keeps it from such work, "" if nothing does. Raises: Invalid."""
    if by == EMBEDDED:
        return "rules, no model and no network", ""
    if by == MODEL:
        return describe_model(state, work)
    program = ADAPTERS[by].program
    if not program:
        return "a script", ""
    there = find_program(program, os.environ.get("PATH", ""))
    return (f"{there.path} {there.version}".strip(), "") if there else (program, f"{program} is not on PATH")


def describe_model(state: State, work: tuple[NodeType, ...]) -> tuple[str, str]:
    """Return which models do such work, and what keeps them from it, "" if nothing does. Raises: Invalid."""
    settings = read_prompt_settings(state)
    try:
        ends = [settings.endpoint_of(FUNCTIONS[kind]) for kind in work]
        for end in ends:
            chat_client(end)
    except Failed as exc:
        return f"through {settings.via}", exc.message
    names = dict.fromkeys(f"{one_line(end.model, 60)} at {one_line(end.url, 100)}" for end in ends)
    return f"{', '.join(names)}, through {settings.via}", ""
