"""A model that is set for `AgendaPatch` adds to what rules change in the agenda; of no use, the rules' change stays."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git
from tests.prompts.stub import served

PHASE = "docs/phases/core.md"
WANTED = "- is one greeting enough?"


def diff_of(path: str = PHASE, old: str = "TITLE: x") -> dict[str, str]:
    blocks = f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{old}\n{WANTED}\n>>>>>>> REPLACE\n"
    return {"summary": "ask whether one is enough", "diff": blocks}


def finished(nexus: Nexus, project: Path, sealed: Path, url: str) -> tuple[dict[str, Any], str]:
    """Return what a run over a phase tells that waits for its last yes, and the phase that it proposes."""
    nexus.ok("agenda", "init")
    nexus.ok("agenda", "phase", "add", "core")
    nexus.ok("agenda", "phase", "start", "core")
    phase = project / PHASE
    phase.write_text(phase.read_text().rstrip("\n") + "\n\nNotes:\n- a note\n")
    (project / "a.txt").write_text("teh\n")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "an agenda")
    endpoint = {"url": url, "model": "small", "seconds": 2}
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus" / "settings.json").write_text(
        json.dumps({"prompts": {"retries": 0, "functions": {"AgendaPatch": endpoint}}})
    )
    run = json.loads(nexus("run", "replace teh by the in a.txt", "--json").stdout)["run"]["id"]
    told = nexus("approve", "--unseen", "--wait", run, "--json")
    ended = nexus("approve", "--unseen", "--wait", run, "--json")
    assert ended.returncode == 0, told.stdout + told.stderr + ended.stdout + ended.stderr
    assert nexus("replay", run, "--verify").returncode == 0
    return json.loads(ended.stdout), run_git(project, "show", f"nexus/{run}:{PHASE}")


def test_what_the_model_adds_is_on_the_card_and_in_the_commit(nexus: Nexus, project: Path, sealed: Path) -> None:
    with served(diff_of(old="no such line"), diff_of(old="- a note")) as stub:
        told, text = finished(nexus, project, sealed, stub.url)

    assert "no such line" in stub.prompts[1]
    assert "replace teh by the in a.txt" in stub.prompts[0]
    assert WANTED in text
    assert f"- run: {told['run']['id']}" in text
    (change,) = [one for one in told["actions"] if one["kind"] == "agenda_patch"]
    assert change["summary"].endswith("; ask whether one is enough")
    assert "200" in nexus.ok("metrics")


@pytest.mark.parametrize(
    "manner",
    ["status:500", "text:I would tick it.", {"diff": "x"}, diff_of(path="readme.txt", old="hello"),
     diff_of(path="docs/new.md"), {"summary": "x", "diff": f"--- a/{PHASE}\n+++ /dev/null\n"}],
)  # fmt: skip
def test_a_model_of_no_use_leaves_what_the_rules_change(nexus: Nexus, project: Path, sealed: Path, manner: Any) -> None:
    with served(manner) as stub:
        told, text = finished(nexus, project, sealed, stub.url)

    assert f"- run: {told['run']['id']}" in text
    assert WANTED not in text
    assert "the model's change of the agenda does not count" in nexus.ok("replay", told["run"]["id"])
    assert "hello" in (project / "readme.txt").read_text()


def test_a_model_that_only_an_unsigned_file_names_is_not_asked(nexus: Nexus, project: Path) -> None:
    with served(diff_of(old="- a note")) as stub:
        # A project's settings without a signature do not count.
        (project / ".nexus" / "settings.json").write_text(
            json.dumps({"prompts": {"functions": {"AgendaPatch": {"url": stub.url, "model": "m"}}}})
        )
        nexus.ok("agenda", "init")
        nexus.ok("agenda", "phase", "add", "core")
        nexus.ok("agenda", "phase", "start", "core")
        (project / "a.txt").write_text("teh\n")
        run_git(project, "add", "-A")
        run_git(project, "commit", "-qm", "an agenda")
        run = json.loads(nexus("run", "replace teh by the in a.txt", "--json").stdout)["run"]["id"]
        nexus("approve", "--unseen", "--wait", run)

    assert stub.asked == []
