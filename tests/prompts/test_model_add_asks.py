"""`git nexus model` where nothing is set up yet: outside of a repository, and at a terminal that is asked all."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nexus
from tests.prompts.stub import served
from tests.terminal import answered


def test_models_are_set_up_anywhere(sealed: Path, tmp_path: Path) -> None:
    anywhere = tmp_path / "no repository"
    anywhere.mkdir()
    nexus = Nexus(anywhere)
    with served("text:ready") as stub:
        nexus.ok("model", "add", "m", "--provider", "other", "--url", stub.url, "--model", "small")
        listed = json.loads(nexus.ok("model", "list", "--json"))["models"]
        tested = nexus.ok("model", "test", "m")
        nexus.ok("model", "use", "m", "--for", "planner")
        removed = nexus.ok("model", "remove", "m")

    assert [one["name"] for one in listed] == ["m"]
    assert "answered “ready”" in tested
    assert removed.startswith("m is removed")
    assert nexus.ok("model", "list").startswith("No model is set up.")


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (("environment", "MY_KEY"), {"keyEnv": "MY_KEY"}),
        (("command", "echo key-of-command"), {"keyCommand": ["echo", "key-of-command"]}),
        (("none",), {}),
        (("",), {}),
    ],
)
def test_a_person_is_asked_for_everything_and_where_the_key_is(
    sealed: Path, project: Path, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], stored: dict[str, object]
) -> None:
    monkeypatch.setenv("MY_KEY", "key-of-variable")
    with served("text:ready") as stub:
        status, drawn = answered(project, "git", "nexus", "model", "add", typed=("other", stub.url, "small", *typed))

    assert status == 0, drawn
    assert "Where is the key? [environment/keyring/command/none] [none]" in drawn
    text = (sealed / "nexus" / "settings.json").read_text()
    kept = json.loads(text)["prompts"]["models"]["other"]
    assert {key: value for key, value in kept.items() if key.startswith("key")} == stored
    assert "key-of-variable" not in text
    assert len(stub.asked) == 1


def test_a_key_in_the_keyring_is_asked_for_by_its_account(sealed: Path, project: Path) -> None:
    status, drawn = answered(
        project, "git", "nexus", "model", "add", "--no-test", typed=("openai", "", "", "keyring", "work")
    )

    assert status == 0, drawn
    assert "to store a key there: " in drawn
    assert (
        json.loads((sealed / "nexus" / "settings.json").read_text())["prompts"]["models"]["openai"]["keyring"] == "work"
    )


def test_what_is_typed_in_the_place_of_a_variable_is_not_stored(sealed: Path, project: Path) -> None:
    status, drawn = answered(
        project, "git", "nexus", "model", "add", "--no-test", typed=("openai", "", "", "environment", "sk-live-1234")
    )

    assert status != 0
    assert "the key itself is never stored in a file" in drawn
    assert not (sealed / "nexus" / "settings.json").exists()
