"""A misspelt key, wherever it is written, is refused by the commands that read it, with what was meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.state import State
from tests.catalog.packages import AGENT, package, put
from tests.conftest import Nexus, run_git

MACRO = "---\nversion: 1\nabout: x\nnodes:\n  - {id: a, type: research}\n---\n"


@pytest.mark.parametrize(
    ("value", "command", "words", "hint"),
    [
        ({"sync": {"ref": ["state"]}}, "route fix", "sync: ref is not known", "did you mean refs?"),
        ({"audit": {"read": True}}, "route fix", "audit: read is not known", "did you mean reads?"),
        ({"runs": {"cheks": []}}, "route fix", "runs: cheks is not known", "did you mean checks?"),
        ({"policy": {"bypas": True}}, "policy show", "policy: bypas is not known", "did you mean bypass?"),
        ({"prompts": {"model": {}}}, "model list", "prompts: model is not known", "did you mean models?"),
        ({"prompts": {"use": {"excutor": "m"}}}, "model list", "excutor is no role", "did you mean executor?"),
        ({"prompts": {"functions": {"ExcStep": {}}}}, "model list", "ExcStep is none", "did you mean ExecStep?"),
        (
            {"prompts": {"endpoint": {"interface": "olama"}}},
            "model list",
            "endpoint: interface",
            "did you mean ollama?",
        ),
        (
            {"workflow": {"specialists": {"excutor": "codex"}}},
            "route fix",
            "specialists: excutor should be one of researcher, planner, executor",
            "did you mean executor?",
        ),
        ({"workflow": {"specialists": {"executor": "codx"}}}, "route fix", "'codx' cannot", "did you mean codex?"),
        ({"workflow": {"budgets": {"second": 1}}}, "route fix", "budgets: second is not", "did you mean seconds?"),
    ],
)
def test_a_key_of_the_users_settings(
    project: Path, nexus: Nexus, sealed: Path, value: Any, command: str, words: str, hint: str
) -> None:
    (sealed / "nexus" / "settings.json").write_text(json.dumps(value))

    refused = nexus(*command.split())

    assert refused.returncode != 0
    assert words in refused.stderr
    assert hint in refused.stderr


def test_a_key_that_resembles_none_is_named_by_the_doctor(project: Path, nexus: Nexus) -> None:
    State.open(project).write({"settings.json": b'{"sandbox": {"lvl": "L1"}}'}, why="settings")

    found = nexus("doctor")

    assert "no part of git nexus reads 'sandbox.lvl'" in found.stdout
    assert "every setting is known" not in found.stdout


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("about: x", "abuot: x", "abuot is not known (did you mean about?)"),
        ("type: research", "tpye: research", "nodes[0]: tpye is not known (did you mean type?)"),
        ("type: research", "type: reserch", "exec, review, command (did you mean research?)"),
    ],
)
def test_a_key_of_a_workflow_is_told_by_every_command_that_names_it(
    project: Path, nexus: Nexus, old: str, new: str, words: str
) -> None:
    State.open(project).write({"commands/custom/mine.md": MACRO.replace(old, new).encode()}, why="a workflow")

    for command in (("workflow", "check"), ("run", "/mine do it"), ("route", "/mine do it")):
        refused = nexus(*command)
        assert refused.returncode != 0
        assert words in refused.stderr, command


def test_the_name_of_a_workflow(project: Path, nexus: Nexus) -> None:
    State.open(project).write({"commands/custom/release.md": MACRO.encode()}, why="a workflow")

    assert "did you mean release?" in nexus("run", "/relase 2.0").stderr
    assert "did you mean research?" in nexus("run", "/reserch why").stderr


def test_a_field_of_a_definition_is_told_before_the_one_that_is_missing(project: Path, nexus: Nexus) -> None:
    node = {"id": "a", "type": "research", "specialst": "researcher"}
    (project / "w.json").write_text(json.dumps({"version": 2, "name": "x", "nodes": [node]}))

    refused = nexus("workflow", "check", "w.json")

    assert "nodes[0]: specialst is not known" in refused.stderr
    assert "did you mean specialist?" in refused.stderr


def test_a_key_of_the_policy(project: Path, nexus: Nexus) -> None:
    State.open(project).write({"policy.md": b"---\nversion: 1\nalow:\n  - {run: [git]}\n---\n"}, why="a policy")

    assert "did you mean allow?" in nexus("policy", "show").stderr


def test_a_key_of_git_config(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "hub.git")
    run_git(project, "remote", "add", "origin", str(tmp_path / "hub.git"))
    run_git(project, "config", "remote.origin.nexusRef", "state")
    run_git(project, "config", "nexus.banana", "1")

    refused, found = nexus("sync", "origin"), nexus("doctor")

    assert refused.returncode != 0
    assert "git config remote.origin.nexusref is not known" in refused.stderr
    assert "did you mean remote.origin.nexusRefs?" in refused.stderr
    assert "git config remote.origin.nexusref is not known" in found.stdout
    assert "git config nexus.banana: nothing reads it" in found.stdout


def test_keys_of_git_config_that_are_known_are_no_finding(project: Path, nexus: Nexus) -> None:
    for key in ("nexus.syncMaxBytes", "nexus.codex.modelUrl", "remote.up.stream.nexusSync", "nexus.wireRef"):
        run_git(project, "config", key, "x")

    assert "git config" not in nexus("doctor").stdout


@pytest.mark.parametrize(("right", "wrong"), [("description", "descripton"), ("capabilities", "capabilites")])
def test_a_field_of_a_role_in_a_package(nexus: Nexus, tmp_path: Path, right: str, wrong: str) -> None:
    root = package(tmp_path / "cat")
    put(root, "agents/baker/meta.yml", {wrong if key == right else key: value for key, value in AGENT.items()})

    refused = nexus("catalog", "manifest", str(root))

    assert refused.returncode != 0
    assert f"agents[0]: {wrong} is not known (did you mean {right}?)" in refused.stderr
