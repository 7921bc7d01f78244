"""The page of adapters says what the table says."""

from pathlib import Path

from gitnexus.adapters.script import STEPS
from gitnexus.adapters.table import ADAPTERS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "adapters.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below the line that begins with `heading`."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_table_of_adapters_is_the_table_of_the_program() -> None:
    program = {"command": "any", "scripted": "ours"}

    assert rows("Name | Program") == [
        [
            f"`{one.name}`",
            program.get(one.name, f"`{one.program}`"),
            ", ".join(one.ways),
            one.parses,
            "yes" if one.resumes else "no",
        ]
        for one in ADAPTERS.values()
    ]


def test_every_adapter_has_a_row_about_its_start() -> None:
    assert [row[0] for row in rows("Name | Starts in")] == [f"`{name}`" for name in ADAPTERS]


def test_every_step_of_a_script_is_on_the_page() -> None:
    assert sorted(row[0] for row in rows("`do`")) == sorted(f"`{name}`" for name in STEPS)
