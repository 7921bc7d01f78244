"""The page about the events of a harness says what the programs' tables say."""

from pathlib import Path

from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.harness.model import EVENTS, GATE_SECONDS, MOST_CONTEXT, OTHER_SECONDS
from gitnexus.harness.protocols.table import NAMES, load_harness_protocol

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "harness-events.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below the line that begins with `heading`."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_names_of_events_are_those_that_each_program_has() -> None:
    wanted = [
        [f"`{event}`", *(", ".join(load_harness_protocol(name).events[event]) or "–" for name in NAMES)]
        for event in EVENTS
    ]

    assert sorted(rows("event | Claude Code | Codex | Gemini CLI | OpenCode")) == sorted(wanted)


def test_what_is_done_instead_is_what_each_program_says() -> None:
    wanted = [
        [HARNESSES[name].name, f"`{event}`", words]
        for name in NAMES
        for event, words in load_harness_protocol(name).nearest.items()
    ]

    assert sorted(rows("program | event |")) == sorted(wanted)


def test_every_event_but_the_gates_is_told_of_and_the_numbers_are_right() -> None:
    told = {row[0] for row in rows("event | text for the model or the person | what is stored")}

    assert told == {f"`{event}`" for event in EVENTS if event != "pre_tool_use"}
    assert f"ends after {OTHER_SECONDS:g} seconds" in PAGE
    assert f"within {GATE_SECONDS:g} seconds" in PAGE
    assert f"below {MOST_CONTEXT:,}" in PAGE
