"""The same question again, by the commands that a person types: answered from what was kept, as far as it holds."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git
from tests.prompts.served_claims import claim, research
from tests.prompts.stub import calling, served
from tests.runs.live import events

QUESTION = "What does load_config do?"


def committed(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)
    run_git(project, "add", name)
    run_git(project, "commit", "-qm", f"write {name}")


def asked(nexus: Nexus) -> tuple[dict[str, Any], str]:
    """Return the answer of a run, and its id."""
    told = json.loads(nexus.ok("run", QUESTION, "--json"))
    return told["answer"], told["run"]["id"]


def said(project: Path, run: str) -> str:
    (text,) = [row["text"] for row in events(project, run, "agent.progress") if "looked up again" in row["text"]
               or "answered from" in row["text"]]  # fmt: skip
    return str(text)


@pytest.mark.slow
def test_the_same_question_is_answered_from_what_was_kept_until_a_source_changes(nexus: Nexus, project: Path) -> None:
    committed(project, "config.py", "def load_config(path):\n    return open(path).read()\n")
    committed(project, "notes.md", "# Notes\n\nload_config is called once, at the start.\n")
    first = research("It reads a file.", claim("It reads.", "file:config.py#L1-L2"), claim("Once.", "file:notes.md#L3"))
    again = research("It parses now.", claim("It parses.", "file:config.py#L1-L2"))
    with served(first, again) as stub:
        nexus.ok("model", "add", "--provider", "other", "--url", stub.url, "--model", "m", "--no-test")
        one, first_run = asked(nexus)
        committed(project, "other.txt", "nothing to do with it\n")
        two, second_run = asked(nexus)
        calls = len(stub.asked)
        committed(project, "config.py", "def load_config(path):\n    return json.loads(open(path).read())\n")
        three, third_run = asked(nexus)
        four, _ = asked(nexus)

    assert calls == 1
    assert (two["claims"], two["summary"]) == (one["claims"], one["summary"])
    assert said(project, second_run).startswith(f"answered from research.{first_run}.research: the same question")
    assert len(stub.asked) == 2
    assert [row["text"] for row in three["claims"]] == ["Once.", "It parses."]
    assert nexus("replay", third_run, "--verify").returncode == 0
    assert said(project, third_run).startswith("1 of 2 findings of research.")
    assert four["claims"] == three["claims"]
    prompt = stub.prompts[1]
    assert "- file:config.py#L1-L2" in prompt and "- Once." in prompt and "json.loads" in prompt
    assert "is called once, at the start" not in prompt


@pytest.mark.slow
def test_another_model_is_asked_although_the_question_is_the_same(nexus: Nexus, project: Path) -> None:
    committed(project, "config.py", "def load_config(path):\n    return open(path).read()\n")
    found = research("It reads a file.", claim("It reads.", "file:config.py#L1-L2"))
    with served(found) as stub:
        nexus.ok("model", "add", "--provider", "other", "--url", stub.url, "--model", "m", "--no-test")
        asked(nexus)
        nexus.ok("model", "add", "large", "--provider", "other", "--url", stub.url, "--model", "l", "--no-test")
        nexus.ok("model", "use", "large", "--for", "researcher")
        asked(nexus)

    assert len(stub.asked) == 2


def test_who_does_not_want_it_asks_every_time(nexus: Nexus, project: Path) -> None:
    committed(project, "config.py", "def load_config(path):\n    return open(path).read()\n")
    with served(research("It reads a file.", claim("It reads.", "file:config.py#L1-L2"))) as stub:
        nexus.ok("model", "add", "--provider", "other", "--url", stub.url, "--model", "m", "--no-test")
        file = Path(os.environ["NEXUS_HOME"]) / "settings.json"
        settings = json.loads(file.read_text())
        settings["workflow"]["reuseResearch"] = False
        file.write_text(json.dumps(settings))
        asked(nexus)
        asked(nexus)

    assert len(stub.asked) == 2


def test_rules_search_every_time_and_keep_no_sources(nexus: Nexus, project: Path) -> None:
    committed(project, "config.py", "def load_config(path):\n    return open(path).read()\n")
    one, run = asked(nexus)
    two, _ = asked(nexus)

    assert one["claims"] == two["claims"]
    kept = run_git(project, "show", f"refs/nexus/state:research/research.{run}.research.json")
    assert "sources" not in json.loads(kept)["origin"]


@pytest.mark.slow
def test_what_a_model_looked_up_and_did_not_cite_is_a_source_as_well(nexus: Nexus, project: Path) -> None:
    committed(project, "config.py", "def load_config(path):\n    return open(path).read()\n")
    committed(project, "limits.txt", "at most 3\n")
    look = calling(("repo_read_file", {"path": "limits.txt"}))
    found = research("It reads a file.", claim("It reads.", "file:config.py#L1-L2"))
    with served(look, found, found) as stub:
        nexus.ok("model", "add", "--provider", "other", "--url", stub.url, "--model", "m", "--no-test")
        asked(nexus)
        asked(nexus)
        calls = len(stub.asked)
        committed(project, "limits.txt", "at most 4\n")
        asked(nexus)

    assert calls == 2
    assert len(stub.asked) == 3
    assert "file:limits.txt" in stub.prompts[2]
