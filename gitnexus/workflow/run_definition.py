"""The definition of a run, fixed at its start: a graph of nodes, and the hash that identifies it."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Literal

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.policy.model import Mode

VERSION = 1
Way = Literal["contained", "proposer"]
# Who backs a specialist besides the adapters: rules that need no model, and a typed model call.
EMBEDDED, MODEL = "embedded", "model"
BACKINGS = (EMBEDDED, MODEL)


class RunBudgets(Record):
    """The limits of a run; 0 is no limit."""

    seconds: int = 3600
    tokens: int = 0
    cents: int = 0
    handoffs: int = 10


class RunNode(Record):
    """One node: its adapter, role and prompt."""

    id: str
    adapter: str
    role: str = ""
    prompt: str = ""
    argv: tuple[str, ...] = ()
    way: Way = "contained"
    model: str = ""
    # None, as in definitions that were written before these were known: their hash stays what it was.
    address: str | None = None
    sign_in: bool | None = None
    live: bool | None = None


class RunDefinition(Record):
    """A run. Each pair of `edges` makes its second node wait for the first. `mode`: how much the user is asked."""

    version: int = VERSION
    name: str
    nodes: tuple[RunNode, ...]
    edges: tuple[tuple[str, ...], ...] = ()
    budgets: RunBudgets = field(default_factory=RunBudgets)
    mode: Mode = "default"


def definition_from_command(
    argv: tuple[str, ...], *, name: str = "", prompt: str = "", budgets: RunBudgets | None = None
) -> RunDefinition:
    """Return the one-node workflow that runs a command as the agent; `prompt` describes it. Raises: Invalid."""
    if not argv or not argv[0]:
        raise Invalid("say what to run", hint="git nexus run -- CMD")
    node = RunNode(id="main", adapter="command", argv=argv, prompt=prompt)
    return RunDefinition(name=name or argv[0].rpartition("/")[2], nodes=(node,), budgets=budgets or RunBudgets())


def definition_from_prompt(
    prompt: str,
    adapter: str,
    *,
    role: str = "",
    way: Way = "contained",
    model: str = "",
    argv: tuple[str, ...] = (),
    budgets: RunBudgets | None = None,
) -> RunDefinition:
    """Return the one-node workflow that gives a prompt to an agent. Raises: Invalid."""
    if not prompt.strip():
        raise Invalid(
            "there is nothing to run: give a prompt or a command", hint='git nexus run "fix the parser" --agent claude'
        )
    node = RunNode(id="main", adapter=adapter, role=role, prompt=prompt, way=way, model=model, argv=argv)
    return RunDefinition(name=adapter, nodes=(node,), budgets=budgets or RunBudgets())


def definition_differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the differences by field as text, for a user who tries to resume another definition."""
    return list(_differing_values("", before, now))


def _differing_values(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _differing_values(f"{place}.{key}" if place else key, old.get(key), new.get(key))
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differing_values(f"{place}[{at}]", one, other)
    elif old != new:
        yield f"{place}: {old!r} is now {new!r}"
