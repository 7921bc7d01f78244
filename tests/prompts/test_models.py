"""`git nexus model`: set up, listed, tested, used and removed; keys are found where they are and written nowhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitnexus import __version__
from gitnexus.base.errors import Invalid
from gitnexus.base.spelling import closest_word
from gitnexus.prompts.settings import parse_prompt_settings
from gitnexus.workflow.settings import parse_workflow_settings
from tests.conftest import Nexus, trust
from tests.prompts.stub import served


def settings_of(sealed: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((sealed / "nexus" / "settings.json").read_text())
    return found


def test_a_model_is_set_up_by_one_command_that_calls_it_and_gives_it_the_free_roles(
    project: Path, nexus: Nexus, sealed: Path
) -> None:
    (sealed / "nexus" / "settings.json").write_text('{"workflow": {"specialists": {"planner": "claude"}}}')
    with served("text:ready") as stub:
        added = nexus("model", "add", "--provider", "ollama", "--url", stub.url, "--model", "small", "--usd-in", "1",
                      "--usd-out", "2")  # fmt: skip

    assert added.returncode == 0, added.stderr
    assert added.stdout == (
        "ollama answered “ready”: 100 tokens in, 20 out, 0.000140 USD\nused by: researcher, executor\n"
    )
    assert stub.asked[0]["model"] == "small"
    assert settings_of(sealed) == {
        "workflow": {"specialists": {"planner": "claude", "researcher": "model", "executor": "model"}},
        "prompts": {
            "models": {
                "ollama": {"provider": "ollama", "url": stub.url, "model": "small", "usdPerMillionIn": 1.0,
                           "usdPerMillionOut": 2.0}
            },
            "use": {"researcher": "ollama", "executor": "ollama"},
        },
    }  # fmt: skip


def test_a_model_that_does_not_answer_is_not_kept(project: Path, nexus: Nexus, sealed: Path) -> None:
    with served("status:401") as stub:
        refused = nexus("model", "add", "--provider", "other", "--url", stub.url, "--model", "m")

    assert refused.returncode == 1
    assert not (sealed / "nexus" / "settings.json").exists()


def test_a_key_comes_from_a_variable_a_command_or_the_keyring_and_is_written_nowhere(
    project: Path, nexus: Nexus, sealed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ring = tmp_path / "bin" / "secret-tool"
    ring.parent.mkdir()
    ring.write_text("#!/bin/sh\necho key-of-ring-$5\n")
    ring.chmod(0o755)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", f"{ring.parent}:/usr/bin:/bin")
    monkeypatch.setenv("MY_KEY", "key-of-variable")
    ways = (("--key-env", "MY_KEY"), ("--key-command", "echo key-of-command"), ("--keyring", "me"))
    with served("text:ready") as stub:
        for at, way in enumerate(ways):
            nexus.ok("model", "add", f"m{at}", "--provider", "other", "--url", stub.url, "--model", "m", *way)

    sent = [one["authorization"] for one in stub.headers]
    assert sent == ["Bearer key-of-variable", "Bearer key-of-command", "Bearer key-of-ring-me"]
    assert "Bearer" not in (sealed / "nexus" / "settings.json").read_text()
    assert "key-of-variable" not in (sealed / "nexus" / "settings.json").read_text()


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (("--key-env", "NOT_SET"), "NOT_SET is not set"),
        (("--key-command", "false"), "the key cannot be read: false ended with status 1 and printed no key"),
        (("--key-command", "/no/such/program"), "the key cannot be read: /no/such/program: No such file or directory"),
        (("--key-env", "A", "--keyring", "b"), "keyEnv, keyCommand and keyring are three ways, and one is enough"),
    ],
)
def test_a_key_that_is_not_there_is_told(project: Path, nexus: Nexus, option: tuple[str, ...], why: str) -> None:
    refused = nexus("model", "add", "--provider", "other", "--url", "http://127.0.0.1:9/v1", "--model", "m", *option)

    assert refused.returncode != 0
    assert why in refused.stderr


def test_a_model_is_listed_tested_given_to_roles_and_removed(project: Path, nexus: Nexus, sealed: Path) -> None:
    with served("text:ready") as stub:
        for name in ("one", "two"):
            nexus.ok(
                "model", "add", name, "--provider", "other", "--url", stub.url, "--model", f"m-{name}", "--no-test"
            )
        nexus.ok("model", "use", "two", "--for", "planner")
        listed = json.loads(nexus.ok("model", "list", "--json"))["models"]
        tested = json.loads(nexus.ok("model", "test", "two", "--json"))
        removed = nexus.ok("model", "remove", "one")

    assert [(one["name"], one["roles"]) for one in listed] == [
        ("one", ["researcher", "executor"]),
        ("two", ["planner"]),
    ]
    assert (tested["roles"], tested["call"]["tokens"]) == (["planner"], {"input": 100, "output": 20})
    assert [one["model"] for one in stub.asked] == ["m-two"]
    assert removed == "one is removed; rules do the work of researcher, executor again\n"
    assert settings_of(sealed)["workflow"] == {"specialists": {"planner": "model"}}
    assert nexus("model", "test", "one").returncode == nexus("model", "remove", "one").returncode != 0


def test_a_list_of_agents_is_kept_when_a_model_is_used_or_removed_and_a_single_one_makes_room_and_is_named(
    project: Path, nexus: Nexus, sealed: Path
) -> None:
    models = {"small": {"url": "http://127.0.0.1:9/v1", "model": "m"}}
    specialists = {"executor": ["codex", {"agent": "claude", "goodAt": ["docs"]}], "planner": "gemini"}
    file = Path(os.environ["NEXUS_HOME"]) / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"prompts": {"models": models}, "workflow": {"specialists": specialists}}))

    said = nexus.ok("model", "use", "small", "--for", "executor", "--for", "planner")
    used = json.loads(file.read_text())["workflow"]["specialists"]
    nexus.ok("model", "remove", "small")
    removed = json.loads(file.read_text())["workflow"]["specialists"]

    assert "executor (first, then codex, claude), planner (in the place of gemini)" in said
    assert used == {"executor": ["model", *specialists["executor"]], "planner": "model"}
    assert removed == {"executor": specialists["executor"]}


def test_a_role_asks_the_model_that_it_uses(project: Path, nexus: Nexus) -> None:
    answer = {"question": "q", "summary": "It is so.", "claims": [], "constraints": [], "unresolved": []}
    with served(answer) as stub:
        nexus.ok("model", "add", "--provider", "other", "--url", stub.url, "--model", "m", "--no-test")
        nexus("run", "/research where is the config read")

    assert [one["model"] for one in stub.asked] == ["m"]


def test_without_a_terminal_what_is_missing_is_named(project: Path, nexus: Nexus) -> None:
    refused = nexus("model", "add")

    assert refused.returncode != 0
    assert "give it with --provider" in refused.stderr


def test_a_project_names_no_command_that_prints_a_key(project: Path, nexus: Nexus, sealed: Path) -> None:
    given = {"prompts": {"models": {"m": {"url": "http://127.0.0.1:9/v1", "model": "m", "keyCommand": ["touch", "x"]}}}}
    (project / ".nexus" / "settings.json").write_text(json.dumps(given))
    trust(project)

    refused = nexus("model", "test", "m")

    assert refused.returncode != 0
    assert "keyCommand is for your own settings" in refused.stderr
    assert not (project / "x").exists()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"endpiont": {}}, "did you mean endpoint?"),
        ({"endpoint": {"usdPerMilionIn": 1}}, "did you mean usdPerMillionIn?"),
        ({"models": {"m": {"key_env": "A"}}}, "did you mean keyEnv?"),
        ({"zzz": 1}, None),
    ],
)
def test_a_misspelt_key_of_a_document_is_refused_with_what_was_meant(value: object, hint: str | None) -> None:
    with pytest.raises(Invalid) as refused:
        parse_prompt_settings(value)

    assert refused.value.hint == hint


def test_a_misspelt_key_of_a_record_is_refused_with_what_was_meant() -> None:
    with pytest.raises(Invalid) as refused:
        parse_workflow_settings({"routr": {}})

    assert (refused.value.message, refused.value.hint) == (
        "settings.json: workflow: routr is not known",
        "did you mean router?",
    )


def test_a_misspelt_section_is_an_error_of_whatever_reads_settings(project: Path, nexus: Nexus, sealed: Path) -> None:
    (sealed / "nexus" / "settings.json").write_text('{"workfow": {}}')

    refused = nexus("route", "fix it")

    assert refused.returncode != 0
    assert "workfow is not known" in refused.stderr
    assert "did you mean workflow?" in refused.stderr


@pytest.mark.parametrize(
    ("word", "meant"), [("retires", "retries"), ("sync", "sync"), ("Key_Env", "keyEnv"), ("banana", ""), ("", "")]
)
def test_a_word_is_near_by_few_letters(word: str, meant: str) -> None:
    assert closest_word(word, ("retries", "sync", "keyEnv")) == meant


@pytest.mark.parametrize(
    ("provider", "interface", "url"),
    [
        ("ollama", "ollama", "http://127.0.0.1:11434"),
        ("llama.cpp", "openai", "http://127.0.0.1:8080/v1"),
        ("openai", "openai", "https://api.openai.com/v1"),
        ("anthropic", "anthropic", "https://api.anthropic.com"),
        ("gemini", "gemini", "https://generativelanguage.googleapis.com"),
    ],
)
def test_each_provider_is_spoken_with_in_its_own_way(
    project: Path, nexus: Nexus, provider: str, interface: str, url: str
) -> None:
    nexus.ok("model", "add", "--provider", provider, "--model", "m", "--no-test")

    listed = json.loads(nexus.ok("model", "list", "--json"))["models"]
    assert [(one["interface"], one["url"]) for one in listed] == [(interface, url)]


@pytest.mark.parametrize(
    "interface", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("anthropic", "gemini")), "ollama"]
)
def test_a_model_is_called_by_its_own_interface(project: Path, nexus: Nexus, interface: str) -> None:
    with served("text:ready", speaks=interface) as stub:
        added = nexus.ok("model", "add", "m", "--provider", interface, "--url", stub.url, "--model", "m",
                         "--key-command", "echo the-key")  # fmt: skip

    assert added.startswith("m answered “ready”: 100 tokens in, 20 out")
    assert "the-key" in json.dumps(stub.headers)


def test_without_its_library_a_provider_is_spoken_with_by_chat_completions_and_the_extra_is_named(
    project: Path, nexus: Nexus
) -> None:
    def add(*options: str) -> "subprocess.CompletedProcess[str]":
        given = ["git-nexus", "model", "add", "--provider", "anthropic", "--model", "m", "--no-test", *options]
        hidden = f"import importlib.util as u, sys; find = u.find_spec; sys.argv = {given}; u.find_spec = "
        hidden += "lambda name, *more: None if name == 'anthropic' else find(name, *more); import gitnexus.main as m; "
        run = [sys.executable, "-c", f"{hidden}raise SystemExit(m.main())"]
        return subprocess.run(run, cwd=project, capture_output=True, text=True, check=False)

    added, wanted = add(), add("--interface", "anthropic")
    listed = json.loads(nexus.ok("model", "list", "--json"))["models"]

    assert added.returncode == 0
    install = f"pip install 'git-nexus[models]=={__version__}'"
    assert "anthropic is not installed, so chat completions are spoken with anthropic" in added.stderr
    assert install in added.stderr
    assert [(one["interface"], one["url"]) for one in listed] == [("openai", "https://api.anthropic.com/v1")]
    assert wanted.returncode == 1
    assert "anthropic is not installed, which speaks with anthropic" in wanted.stderr
    assert "git-nexus[models]" in wanted.stderr
