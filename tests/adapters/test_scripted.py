"""The scripted agent: it does what its file says, tells each step, and goes on where it was stopped."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitnexus.adapters import AgentEnd, AgentEvent, AgentJob
from gitnexus.adapters.script import SayStep, WriteStep, read_script_steps
from gitnexus.adapters.scripted import ScriptedAdapter
from gitnexus.base.errors import Invalid, NotFound

FAKE_MCP = Path(__file__).with_name("fake_mcp.py")


@pytest.fixture
def job(tmp_path: Path) -> AgentJob:
    for name in ("work", "private/home"):
        (tmp_path / name).mkdir(parents=True)
    server = (sys.executable, str(FAKE_MCP), str(tmp_path / "proposed"))
    return AgentJob(
        prompt="",
        way="contained",
        folder=str(tmp_path / "work"),
        private=str(tmp_path / "private"),
        server=server,
        command=(str(tmp_path / "steps.json"),),
    )


def play(job: AgentJob, *steps: dict[str, Any]) -> tuple[list[AgentEvent], AgentEnd]:
    Path(job.command[0]).write_text(json.dumps({"steps": steps}))
    launch = ScriptedAdapter().launch(job)
    done = subprocess.run(launch.argv, cwd=job.folder, env=launch.env, capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    reader = ScriptedAdapter().reader()
    said = [one for line in done.stdout.splitlines() for one in reader.feed(line)]
    return said, reader.end(done.returncode)


def test_it_writes_runs_proposes_and_says(job: AgentJob, tmp_path: Path) -> None:
    said, ended = play(
        job,
        {"do": "write", "path": "a/b.txt", "text": "b\n"},
        {"do": "run", "argv": ["cat", "a/b.txt"]},
        {"do": "propose", "tool": "propose_patch", "input": {"patch": "p"}},
        {"do": "propose", "tool": "no_such_tool", "input": {}, "refused": True},
        {"do": "say", "text": "Done."},
    )

    assert (ended.ok, ended.reason, ended.message, ended.session) == (True, "completed", "Done.", "scripted")
    assert (ended.turns, ended.tokens_in, ended.tokens_out) == (5, 500, 100)
    assert (tmp_path / "work/a/b.txt").read_text() == "b\n"
    assert [one.text for one in said if one.kind == "tool_result"] == ["", "b\n", "it waits", "no such tool"]
    assert [json.loads(line)["name"] for line in (tmp_path / "proposed").read_text().splitlines()] == [
        "propose_patch",
        "no_such_tool",
    ]


def test_it_fails_where_it_is_told_to_and_goes_on_after_what_was_done(job: AgentJob, tmp_path: Path) -> None:
    first = {"do": "run", "argv": ["sh", "-c", "echo x >> count"]}
    _, failed = play(job, first, {"do": "fail", "text": "the end", "status": 7}, {"do": "say", "text": "Never."})
    _, resumed = play(replace(job, session=failed.session), first, {"do": "say", "text": "On."})

    assert (failed.ok, failed.reason, failed.message, failed.turns) == (False, "failed", "the end", 2)
    assert (resumed.ok, resumed.message) == (True, "On.")
    assert (tmp_path / "work/count").read_text() == "x\n"


def test_it_waits_for_a_file(job: AgentJob, tmp_path: Path) -> None:
    (tmp_path / "work/there").touch()

    _, ended = play(job, {"do": "wait", "path": "there"}, {"do": "say", "text": "It came."})
    _, late = play(job, {"do": "wait", "path": "never", "seconds": 0})

    assert ended.message == "It came."
    assert late.message == "never did not appear within 0 seconds"


def test_a_proposer_writes_and_runs_nothing_itself(job: AgentJob, tmp_path: Path) -> None:
    _, wrote = play(replace(job, way="proposer"), {"do": "write", "path": "a", "text": "x"})
    _, ran = play(replace(job, way="proposer"), {"do": "run", "argv": ["touch", "a"]})

    assert (wrote.ok, ran.ok) == (False, False)
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("path", ["../out", "/etc/out", ".git/config", "a/../../out", "link/out", "."])
def test_it_writes_nowhere_but_in_the_folder(path: str, job: AgentJob, tmp_path: Path) -> None:
    (tmp_path / "work/link").symlink_to(tmp_path)

    _, ended = play(job, {"do": "write", "path": path, "text": "x"})

    assert ended.message == f"{path!r} is not a path in the folder"
    assert not (tmp_path / "out").exists()


def test_no_module_of_the_repository_is_imported(job: AgentJob, tmp_path: Path) -> None:
    (tmp_path / "work/json.py").write_text("raise SystemExit('mine')\n")
    (tmp_path / "work/gitnexus").mkdir()

    _, ended = play(job, {"do": "say", "text": "Untouched."})

    assert ended.message == "Untouched."


def test_without_a_server_a_proposal_fails_in_words(job: AgentJob) -> None:
    propose = {"do": "propose", "tool": "propose_patch", "input": {"patch": "p"}}
    _, none = play(replace(job, server=()), propose)
    _, gone = play(replace(job, server=("true",)), propose)
    _, missing = play(replace(job, server=("/no/such/program",)), propose)

    assert none.message == "there is no tool server to propose to"
    assert gone.message.startswith("the tool server closed the connection")
    assert missing.message.startswith("the tool server does not start")


def test_the_same_steps_are_read_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "steps.toml"
    file.write_text('[[steps]]\ndo = "write"\npath = "a"\ntext = "x"\n[[steps]]\ndo = "say"\ntext = "Done."\n')

    assert read_script_steps(file) == (WriteStep(do="write", path="a", text="x"), SayStep(do="say", text="Done."))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"steps":[{"do":"dance"}]}', "step 1: do should be one of", id="a step that is none"),
        pytest.param('{"steps":[{"do":"say"}]}', "step 1: text is missing", id="nothing to say"),
        pytest.param('{"steps":[{"do":"say","text":"a","loud":true}]}', "loud is not known", id="an unknown field"),
        pytest.param('{"steps":{}}', "should hold steps, a list", id="no list"),
        pytest.param("{", "not valid JSON", id="no JSON"),
    ],
)
def test_a_file_is_refused_before_its_first_step(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "steps.json").write_text(text)

    with pytest.raises(Invalid, match=words):
        read_script_steps(tmp_path / "steps.json")


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_script_steps(tmp_path / "none.json")
