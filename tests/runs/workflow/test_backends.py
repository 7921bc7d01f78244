"""Who stands behind a specialist: by default nobody but rules; and what is missing for who was set."""

import json
import os
from pathlib import Path

import pytest

from gitnexus.app import open_nexus
from gitnexus.runs.workflow.backends import SpecialistBackend, list_specialist_backends
from tests.conftest import Nexus


def test_rules_stand_behind_all_until_somebody_is_set_and_what_is_missing_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nexus = open_nexus(project)
    settings = Path(os.environ["NEXUS_HOME"]) / "settings.json"
    settings.parent.mkdir(exist_ok=True)

    assert [(one.specialist, one.by, one.missing) for one in list_specialist_backends(nexus.state)] == [
        ("researcher", "embedded", ""),
        ("planner", "embedded", ""),
        ("executor", "embedded", ""),
    ]
    monkeypatch.setenv("PATH", "/nowhere")
    settings.write_text(json.dumps({"workflow": {"specialists": {"researcher": "model", "planner": "claude"}}}))
    assert [(one.by, one.missing) for one in list_specialist_backends(nexus.state)] == [
        ("model", "no model is set for Research"),
        ("claude", "claude is not on PATH"),
        ("embedded", ""),
    ]
    endpoint = {"url": "http://127.0.0.1:9/v1", "model": "small"}
    both = {"workflow": {"specialists": {"researcher": "model"}}, "prompts": {"endpoint": endpoint}}
    settings.write_text(json.dumps(both))
    assert list_specialist_backends(nexus.state)[0] == SpecialistBackend(
        "researcher", "model", ("research", "review"), "small at http://127.0.0.1:9/v1, through baml"
    )
    nexus.close()


def test_the_command_shows_it(project: Path, nexus: Nexus) -> None:
    assert nexus.ok("workflow", "specialists").splitlines()[0].split()[:3] == ["researcher", "embedded", "research,"]
