"""`git nexus metrics`: how well agents do, as a table, as JSON, as a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import answer, counted, note, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.app.metrics import Metrics
    from gitnexus.events.measure import Tally, Worker

_NONE = "n/a"
_ACROSS = 4
_WIDE = 12


@click.command("metrics", cls=NexusCommand)
@click.option("--since", metavar="WHEN", help="Only runs that began then or later: 2026-11-01, or 12h, 30d, 2w ago.")
@click.option("--svg", metavar="FILE", help="Draw it into this file, too.")
@with_nexus
def metrics(nexus: "Nexus", since: str | None, svg: str | None) -> None:
    """Count from the logs of all runs how well each agent does.

    n/a is what nothing was recorded of. Runs that were archived count as well.
    """
    from gitnexus.app.metrics import metrics_of, moment, plain
    from gitnexus.base import clock

    begin = moment(since, clock.now()) if since else None
    found = metrics_of(nexus.state, begin)
    if found.unreadable:
        shown = ", ".join(one_line(run, 40) for run in found.unreadable[:5])
        more = f" and {len(found.unreadable) - 5} more" if len(found.unreadable) > 5 else ""
        note(f"not all of these logs could be read: {shown}{more}; git nexus replay RUN --verify tells why")
    drawn = _drawn(found, start_folder(invocation(click.get_current_context())) / expand_home(svg)) if svg else None
    if drawn:
        note(f"drawn into {drawn}")
    rows = [{"agent": who.agent, "adapter": who.adapter, **plain(tally)} for who, tally in found.workers.items()]
    answer(
        {"since": clock.stamp(begin) if begin else None, "metrics": rows, "total": plain(found.total),
         "unreadable": list(found.unreadable), "svg": str(drawn) if drawn else None},
        lambda: table(found) if found.total.runs else "No runs yet." if begin is None else "No runs since then.",
        nexus.described,
    )  # fmt: skip


def table(found: "Metrics") -> str:
    """Return the counts, a column for each agent; more than fit beside each other stand below."""
    columns = [("all", found.total), *((name_of(who), tally) for who, tally in found.workers.items())]
    if len(found.workers) == 1:
        columns = columns[1:]
    wide = max(len(words) for words, _ in ROWS)
    blocks = []
    for start in range(0, len(columns), _ACROSS):
        part = columns[start : start + _ACROSS]
        heads = _heads([name for name, _ in part])
        rows = [*heads, *([cell(tally) for _, tally in part] for _, cell in ROWS)]
        words = ["" for _ in heads] + [words for words, _ in ROWS]
        blocks.append("\n".join(
            f"{label:<{wide}}" + "".join(f"  {value:>{_WIDE}}" for value in row)
            for label, row in zip(words, rows, strict=True)
        ))  # fmt: skip
    return "\n\n".join(blocks)


def _heads(names: list[str]) -> list[list[str]]:
    """Return the heads of columns: the agent, and below it the adapter where that is somebody else."""
    pairs = [name.rpartition("/") for name in names]
    above = [one_line(agent or adapter, _WIDE) for agent, _, adapter in pairs]
    below = [one_line(adapter, _WIDE) if agent else "" for agent, _, adapter in pairs]
    return [above, below] if any(below) else [above]


def name_of(who: "Worker") -> str:
    """Return a worker in a few letters: the adapter, and before it the role if there is one."""
    return who.adapter if who.agent == who.adapter else f"{who.agent}/{who.adapter}"


def _share(good: str, bad: str) -> "Callable[[Tally], str]":
    def cell(tally: "Tally") -> str:
        yes, no = getattr(tally, good), getattr(tally, bad)
        return f"{yes / (yes + no):.0%} of {yes + no}" if yes + no else _NONE

    return cell


def _count(name: str) -> "Callable[[Tally], str]":
    return lambda tally: str(getattr(tally, name))


def _mean(name: str, by: str) -> "Callable[[Tally], str]":
    def cell(tally: "Tally") -> str:
        count = getattr(tally, by)
        return f"{getattr(tally, name) / count:.2f}" if count else _NONE

    return cell


def _tokens(name: str) -> "Callable[[Tally], str]":
    return lambda tally: short(getattr(tally, name)) if tally.metered else _NONE


def short(number: int) -> str:
    """Return a number in at most five characters: 950, 12.3k, 4.5M."""
    if number < 1000:
        return str(number)
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size * 0.9995:
            value = number / size
            return f"{value:.0f}{letter}" if value >= 99.95 else f"{value:.1f}{letter}"
    return str(number)


def _cost(tally: "Tally") -> str:
    return f"${tally.cost / 1_000_000:.2f}" if tally.costed else _NONE


ROWS: "tuple[tuple[str, Callable[[Tally], str]], ...]" = (
    ("runs", _count("runs")),
    ("runs that ended well", _share("completed", "failed")),
    ("outputs that keep their form", _share("valid", "invalid")),
    ("patches that apply", _share("applied", "unfit")),
    ("tests pass after a change", _share("passed", "broken")),
    ("retries per step", _mean("retries", "steps")),
    ("units (CU) per good batch", _mean("units", "batches")),
    ("approvals asked for", _count("asked")),
    ("  given", _count("approved")),
    ("  given for more than once", _count("widened")),
    ("  denied by a person", _count("denied")),
    ("denied by the policy", _count("refused")),
    ("decisions only claimed", _count("claimed")),
    ("tokens in", _tokens("input")),
    ("tokens out", _tokens("output")),
    ("cost", _cost),
)


def _drawn(found: "Metrics", file: Path) -> Path:
    from gitnexus.base.errors import Failed
    from gitnexus.base.files import replace
    from gitnexus.ui.bars import Group, picture

    names = (
        ("outputs keep form", "valid", "invalid"),
        ("patches apply", "applied", "unfit"),
        ("tests pass", "passed", "broken"),
        ("runs end well", "completed", "failed"),
    )
    groups = [
        Group(name_of(who), counted(tally.runs, "run"), tuple(
            (label, _fraction(tally, good, bad), _share(good, bad)(tally)) for label, good, bad in names
        ))
        for who, tally in found.workers.items()
    ]  # fmt: skip
    try:
        replace(file, picture("How well agents do", groups).encode())
    except OSError as exc:
        raise Failed(f"{file} could not be written: {exc.strerror}") from exc
    return file


def _fraction(tally: "Tally", good: str, bad: str) -> float | None:
    yes, no = getattr(tally, good), getattr(tally, bad)
    return yes / (yes + no) if yes + no else None
