"""What a run is to do, fixed when it starts: a graph of nodes, and the hash that says it is still the same."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Literal

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.policy.model import Mode

VERSION = 1
Way = Literal["contained", "proposer"]


class Budgets(Record):
    """How much a run may take; 0 is no limit of its own."""

    seconds: int = 3600
    tokens: int = 0
    cents: int = 0
    handoffs: int = 10


class Node(Record):
    """One step: which adapter works, as which role, on what."""

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


class Definition(Record):
    """The whole. `edges` are pairs of node ids: a node waits for those that point at it. `mode`: how much is asked."""

    version: int = VERSION
    name: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, ...], ...] = ()
    budgets: Budgets = field(default_factory=Budgets)
    mode: Mode = "default"


def of_command(argv: tuple[str, ...], *, name: str = "", budgets: Budgets | None = None) -> Definition:
    """Return the workflow of one node that runs any command as the agent. Raises: Invalid."""
    if not argv or not argv[0]:
        raise Invalid("say what to run", hint="git nexus run -- CMD")
    node = Node(id="main", adapter="command", argv=argv)
    return Definition(name=name or argv[0].rpartition("/")[2], nodes=(node,), budgets=budgets or Budgets())


def of_prompt(
    prompt: str,
    adapter: str,
    *,
    role: str = "",
    way: Way = "contained",
    model: str = "",
    argv: tuple[str, ...] = (),
    budgets: Budgets | None = None,
) -> Definition:
    """Return the workflow of one node that gives a prompt to an agent. Raises: Invalid."""
    if not prompt.strip():
        raise Invalid("say what is to be done", hint='git nexus run "fix the parser" --agent claude')
    node = Node(id="main", adapter=adapter, role=role, prompt=prompt, way=way, model=model, argv=argv)
    return Definition(name=adapter, nodes=(node,), budgets=budgets or Budgets())


def difference(before: Record, now: Record) -> list[str]:
    """Return what differs, each by its place and in words, for who tries to resume another definition."""
    return list(_differing("", before.plain(), now.plain()))


def _differing(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _differing(f"{place}.{key}" if place else key, old.get(key), new.get(key))
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differing(f"{place}[{at}]", one, other)
    elif old != new:
        yield f"{place}: {old!r} is now {new!r}"
