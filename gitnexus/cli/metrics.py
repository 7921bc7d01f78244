"""`git nexus metrics`: show figures for each agent, counted from the logs of all runs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitnexus.base import clock
from gitnexus.base.errors import Failed
from gitnexus.base.files import expand_home, replace_file
from gitnexus.base.text import one_line
from gitnexus.runs.metrics import Metrics, collect_metrics, parse_since, tally_as_json
from gitnexus.ui.bars import BarGroup, render_bar_chart
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import count_of, print_answer, print_note, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.events.measure import MeasuredWorker, WorkerTally

_NONE = "n/a"
_ACROSS = 4
_WIDE = 12


@click.command("metrics", cls=NexusCommand)
@click.option("--since", metavar="WHEN", help="Only runs that began then or later: 2026-11-01, or 12h, 30d, 2w ago.")
@click.option("--svg", metavar="FILE", help="Also draw it into this file.")
@with_nexus
def show_metrics(nexus: "Nexus", since: str | None, svg: str | None) -> None:
    """Show figures for each agent, counted from the logs of all runs.

    n/a means that nothing was recorded. Runs that were archived count as well.
    """
    begin = parse_since(since, clock.utc_now()) if since else None
    found = collect_metrics(nexus.state, begin)
    if found.unreadable:
        shown = ", ".join(one_line(run, 40) for run in found.unreadable[:5])
        more = f" and {len(found.unreadable) - 5} more" if len(found.unreadable) > 5 else ""
        print_note(f"not all of these logs could be read: {shown}{more}; git nexus replay RUN --verify shows why")
    drawn = (
        _write_chart(found, start_folder(current_invocation(click.get_current_context())) / expand_home(svg))
        if svg
        else None
    )
    if drawn:
        print_note(f"drawn into {drawn}")
    rows = [
        {"agent": who.agent, "adapter": who.adapter, **tally_as_json(tally)} for who, tally in found.workers.items()
    ]
    print_answer(
        {
            "since": clock.format_timestamp(begin) if begin else None,
            "metrics": rows,
            "kinds": [{**who._asdict(), **tally_as_json(tally)} for who, tally in found.work.items()],
            "total": tally_as_json(found.total),
            "unreadable": list(found.unreadable),
            "svg": str(drawn) if drawn else None,
        },
        lambda: (
            format_metrics(found) if found.total.runs else "No runs yet." if begin is None else "No runs since then."
        ),
        nexus.described,
    )


def format_metrics(found: "Metrics") -> str:
    """Return the counts as a table with a column for each agent; columns that do not fit follow below."""
    columns = [("all", found.total), *((worker_name(who), tally) for who, tally in found.workers.items())]
    if len(found.workers) == 1:
        columns = columns[1:]
    wide = max(len(words) for words, _ in ROWS)
    blocks = []
    for start in range(0, len(columns), _ACROSS):
        part = columns[start : start + _ACROSS]
        heads = _format_heads([name for name, _ in part])
        rows = [*heads, *([cell(tally) for _, tally in part] for _, cell in ROWS)]
        words = ["" for _ in heads] + [words for words, _ in ROWS]
        blocks.append(
            "\n".join(
                f"{label:<{wide}}" + "".join(f"  {value:>{_WIDE}}" for value in row)
                for label, row in zip(words, rows, strict=True)
            )
        )
    return "\n\n".join(blocks)


def _format_heads(names: list[str]) -> list[list[str]]:
    """Return the column heads: the agent and, if it has another name, the adapter below it."""
    pairs = [name.rpartition("/") for name in names]
    above = [one_line(agent or adapter, _WIDE) for agent, _, adapter in pairs]
    below = [one_line(adapter, _WIDE) if agent else "" for agent, _, adapter in pairs]
    return [above, below] if any(below) else [above]


def worker_name(who: "MeasuredWorker") -> str:
    """Return a short name of a worker: the adapter, with the role before it if there is one."""
    return who.adapter if who.agent == who.adapter else f"{who.agent}/{who.adapter}"


def _format_share(good: str, bad: str) -> "Callable[[WorkerTally], str]":
    def cell(tally: "WorkerTally") -> str:
        yes, no = getattr(tally, good), getattr(tally, bad)
        return f"{yes / (yes + no):.0%} of {yes + no}" if yes + no else _NONE

    return cell


def _format_count(name: str) -> "Callable[[WorkerTally], str]":
    return lambda tally: str(getattr(tally, name))


def _format_mean(name: str, by: str) -> "Callable[[WorkerTally], str]":
    def cell(tally: "WorkerTally") -> str:
        count = getattr(tally, by)
        return f"{getattr(tally, name) / count:.2f}" if count else _NONE

    return cell


def _format_tokens(name: str) -> "Callable[[WorkerTally], str]":
    return lambda tally: short_number(getattr(tally, name)) if tally.metered else _NONE


def short_number(number: int) -> str:
    """Return a number in at most five characters: 950, 12.3k, 4.5M."""
    if number < 1000:
        return str(number)
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size * 0.9995:
            value = number / size
            return f"{value:.0f}{letter}" if value >= 99.95 else f"{value:.1f}{letter}"
    return str(number)


def _format_cost(tally: "WorkerTally") -> str:
    return f"${tally.cost / 1_000_000:.2f}" if tally.costed else _NONE


ROWS: "tuple[tuple[str, Callable[[WorkerTally], str]], ...]" = (
    ("runs", _format_count("runs")),
    ("runs that ended well", _format_share("completed", "failed")),
    ("outputs that keep their form", _format_share("valid", "invalid")),
    ("patches that apply", _format_share("applied", "unfit")),
    ("tests pass after a change", _format_share("passed", "broken")),
    ("retries per step", _format_mean("retries", "steps")),
    ("units (CU) per good batch", _format_mean("units", "batches")),
    ("approvals asked for", _format_count("asked")),
    ("  given", _format_count("approved")),
    ("  given for more than once", _format_count("widened")),
    ("  denied by a person", _format_count("denied")),
    ("denied by the policy", _format_count("refused")),
    ("decisions only claimed", _format_count("claimed")),
    ("tools that a model called", _format_count("called")),
    ("  refused", _format_count("uncalled")),
    ("tokens in", _format_tokens("input")),
    ("tokens out", _format_tokens("output")),
    ("cost", _format_cost),
)


def _write_chart(found: "Metrics", file: Path) -> Path:
    names = (
        ("outputs keep form", "valid", "invalid"),
        ("patches apply", "applied", "unfit"),
        ("tests pass", "passed", "broken"),
        ("runs end well", "completed", "failed"),
    )
    groups = [
        BarGroup(
            worker_name(who),
            count_of(tally.runs, "run"),
            tuple((label, _fraction(tally, good, bad), _format_share(good, bad)(tally)) for label, good, bad in names),
        )
        for who, tally in found.workers.items()
    ]
    try:
        replace_file(file, render_bar_chart("How well agents do", groups).encode())
    except OSError as exc:
        raise Failed(f"{file} could not be written: {exc.strerror}") from exc
    return file


def _fraction(tally: "WorkerTally", good: str, bad: str) -> float | None:
    yes, no = getattr(tally, good), getattr(tally, bad)
    return yes / (yes + no) if yes + no else None
