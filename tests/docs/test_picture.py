"""The picture of a run in the README is what the commands print."""

import importlib.util
import re
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "picture"
SVG = (FOLDER / "run.svg").read_text(encoding="utf-8")


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw", FOLDER / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of(svg: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<text [^>]*>(.*)</text>", svg)]


def test_the_script_draws_the_picture_from_its_lines() -> None:
    script = load_script()
    lines = lines_of(SVG)

    assert script.draw(lines) == SVG
    assert script.normalise("\n".join(lines)).split("\n") == lines
    assert max(map(len, lines)) <= script.COLUMNS
    typed = [line[2:].replace(script.FIXED_RUN, "RUN") for line in lines if line.startswith("$ ")]
    assert typed == list(script.COMMANDS)
    assert "(docs/picture/run.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_short_digest_stays_the_beginning_of_its_long_form() -> None:
    short, long = load_script().normalise("abcdef012 abcdef0123456789").split()

    assert short != "abcdef012"
    assert long.startswith(short)
    assert len(long) == 16


@pytest.mark.slow(seconds=10)
def test_the_picture_shows_what_the_commands_print() -> None:
    assert lines_of(SVG) == load_script().record_session()
