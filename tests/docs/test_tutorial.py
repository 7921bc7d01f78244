"""The tutorials and the demo do what they show."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "tutorial"
# Each with the number of commands that it has at least.
TUTORIALS = {"first-steps.md": 30, "first-run.md": 30, "a-workflow.md": 25, "a-cycle.md": 30, "three-projects.md": 50}
LONG = TUTORIALS.keys() - {"first-steps.md"}
DEMO = FOLDER / "demo.sh"
MARK = "\x01"


@dataclass(frozen=True)
class Step:
    """A command of the tutorial, the line it stands on, and what it should print."""

    line: int
    command: str
    expected: list[str]


def steps(text: str) -> list[Step]:
    """Return the `$ command` lines of all console blocks, in order, each with the lines below it."""
    found: list[Step] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append(Step(number, line[2:], []))
        elif inside:
            found[-1].expected.append(line)
    return found


def pattern(expected: list[str]) -> "re.Pattern[str]":
    """Return what an output must match: `…` is any part of a line, alone on a line any number of lines."""
    lines = ["(?:.*\n)*?" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) + "\n" for line in expected]
    return re.compile("".join(lines))


def answers(script: list[Step], place: Path) -> list[tuple[int, str]]:
    """Run the commands in one shell and return the status and output of each."""
    told = [f"{{ {step.command}\n}} 2>&1; s=$?; printf '{MARK}%s{MARK}' $s; (exit $s)" for step in script]
    done = subprocess.run(["sh"], cwd=place, input="\n".join(told), capture_output=True, text=True, check=False)
    parts = done.stdout.split(MARK)
    return [(int(status), output) for output, status in zip(parts[0:-1:2], parts[1::2], strict=True)]


@pytest.fixture
def program_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def test_every_tutorial_is_run() -> None:
    assert {page.name for page in FOLDER.glob("*.md")} == set(TUTORIALS)


@pytest.mark.usefixtures("program_on_path")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow(seconds=20)) for name in ("first-steps.md", *sorted(LONG))]
)
def test_a_tutorial_prints_what_it_says_it_prints(tmp_path: Path, name: str) -> None:
    script = steps((FOLDER / name).read_text(encoding="utf-8"))

    found = answers(script, tmp_path)

    assert len(found) == len(script) >= TUTORIALS[name]
    following = [step.command for step in script[1:]] + [""]
    for step, (status, output), then in zip(script, found, following, strict=True):
        where = f"{name}:{step.line}: {step.command}\n{output}"
        assert pattern(step.expected).fullmatch(output), where
        assert (status == 0) == (then != "echo $?"), f"status {status}: {where}"


@pytest.mark.slow
@pytest.mark.usefixtures("program_on_path")
def test_the_demo_runs_to_its_end_from_any_folder_and_leaves_nothing(
    tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, temporary = tmp_path / "some where", tmp_path / "temporary files"
    elsewhere.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = sorted(sealed.rglob("*"))

    done = subprocess.run(["sh", str(DEMO)], cwd=elsewhere, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    told = ["Approve?", "Nexus-Approval: nx1.", '"passed": 1', "(people release)", "stopped", "all valid", "is on main",
            "4 commits: 4 approved", "what it changes is not what was approved"]  # fmt: skip
    at = [done.stdout.index(words) for words in told]
    assert at == sorted(at)
    assert list(temporary.iterdir()) == list(elsewhere.iterdir()) == []
    assert sorted(sealed.rglob("*")) == before


def test_the_demo_says_so_when_the_program_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("env", "sed"):
        (tools / name).symlink_to(next(p for d in os.defpath.split(":") if (p := Path(d or ".", name)).exists()))
    monkeypatch.setenv("PATH", str(tools))

    done = subprocess.run(["/bin/sh", str(DEMO)], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "git-nexus is not on PATH" in done.stderr


def test_a_wildcard_stands_for_part_of_a_line_and_alone_for_many_lines() -> None:
    assert pattern(["a … z", "…", "end"]).fullmatch("a b c z\none\ntwo\nend\n")
    assert pattern(["a … z"]).fullmatch("a b\nc z\n") is None
    assert pattern([]).fullmatch("noise\n") is None
