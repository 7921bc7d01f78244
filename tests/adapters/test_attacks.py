"""Attacks on the way an agent is started and on what is read from it, by their number."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gitnexus.adapters import AgentJob
from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Invalid

CLAIM = b'{"type":"result","subtype":"success","is_error":false,"result":"tests passed","session_id":"--settings=x"}'


def job_in(folder: Path) -> AgentJob:
    return AgentJob(prompt="Go on.", way="contained", folder=str(folder / "work"), private=str(folder / "private"))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("claude", {"session": "--settings=evil"}, id="206-session-as-option"),
        pytest.param("codex", {"session": "-c"}, id="206-session-as-short-option"),
        pytest.param("claude", {"session": "a b"}, id="206-session-with-blank"),
        pytest.param("gemini", {"model": "--yolo"}, id="206-model-as-option"),
        pytest.param("opencode", {"model": "a\n--auto"}, id="206-model-with-newline"),
        pytest.param("claude", {"folder": "work"}, id="206-folder-not-absolute"),
        pytest.param("claude", {"folder": "/scratch/../etc"}, id="206-folder-with-dots"),
        pytest.param("claude", {"server": ("git\0", "nexus")}, id="206-nul-in-server"),
        pytest.param("gemini", {"folder": "/work,/etc"}, id="206-folder-as-list"),
        pytest.param("claude", {"private": "/w/private", "folder": "/w"}, id="205-settings-where-the-agent-writes"),
        pytest.param("gemini", {"private": "/w/.git/nexus/r1"}, id="205-private-folder-in-a-git-folder"),
        pytest.param("aider", {"session": "abc"}, id="206-session-of-a-program-that-has-none"),
        pytest.param("aider", {"way": "proposer"}, id="205-proposer-without-tools-of-ours"),
        pytest.param("command", {"way": "proposer", "command": ("true",)}, id="205-any-command-as-proposer"),
    ],
)
def test_a_job_that_could_slip_something_in_is_refused(name: str, changes: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        ADAPTERS[name].launch(replace(job_in(tmp_path), **changes))  # type: ignore[arg-type]


def test_205_a_private_folder_below_a_checkout_is_refused(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="is inside a repository"):
        ADAPTERS["opencode"].launch(replace(job_in(tmp_path), private=str(repository / "build" / "private")))


@pytest.mark.parametrize("file", [".aider.conf.yml", ".env", ".aider.model.settings.yml"])
def test_205_aider_is_not_started_beside_settings_that_it_would_obey(file: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / file).symlink_to("nowhere")  # a link that will lead somewhere later counts as well

    with pytest.raises(Invalid) as refused:
        ADAPTERS["aider"].launch(job_in(tmp_path))

    assert file in refused.value.message


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        pytest.param(
            "claude", {"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands"}, id="205-claude"
        ),
        pytest.param("codex", {"--ignore-rules"}, id="205-codex"),
        pytest.param("opencode", {"--pure"}, id="205-opencode"),
    ],
)
def test_the_settings_of_a_repository_are_switched_off(name: str, needed: set[str], tmp_path: Path) -> None:
    assert needed <= set(ADAPTERS[name].launch(job_in(tmp_path)).argv)


@pytest.mark.parametrize("name", ["gemini", "opencode"])
def test_205_a_program_that_cannot_be_told_starts_where_there_is_nothing(name: str, tmp_path: Path) -> None:
    assert ADAPTERS[name].launch(job_in(tmp_path)).start_in == "empty"


def test_143_no_adapter_lets_a_program_ask(tmp_path: Path) -> None:
    for name in ("claude", "codex", "gemini", "opencode"):
        launch = ADAPTERS[name].launch(job_in(tmp_path))
        written = b"".join(launch.files.values()).decode()
        assert '"ask"' not in written
        assert "permission-prompt" not in " ".join(launch.argv)


def test_145_no_fence_is_a_plugin_or_a_hook_of_the_program(tmp_path: Path) -> None:
    for name in ("claude", "codex", "gemini", "opencode"):
        files = ADAPTERS[name].launch(job_in(tmp_path)).files
        assert not any(part in file for file in files for part in ("plugin", "hooks"))


def test_203_a_claim_is_a_message_and_a_status_outweighs_it() -> None:
    reader = ADAPTERS["claude"].reader()
    reader.feed(CLAIM)

    ended = reader.end(1)

    assert (ended.ok, ended.reason, ended.message) == (False, "failed", "tests passed")


def test_206_a_session_that_looks_like_an_option_is_not_kept() -> None:
    reader = ADAPTERS["claude"].reader()
    reader.feed(CLAIM)

    assert reader.end(0).session == ""


def test_206_a_later_line_cannot_change_the_session() -> None:
    reader = ADAPTERS["codex"].reader()
    for name in ("first", "second"):
        reader.feed(json.dumps({"type": "thread.started", "thread_id": name}).encode())

    assert reader.end(0).session == "first"


def test_208_claude_tells_what_each_message_took_and_a_message_in_two_lines_counts_once() -> None:
    reader = ADAPTERS["claude"].reader()
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 7}
    lines = [{"type": "assistant", "message": {"id": id_, "content": [], "usage": usage}} for id_ in ("m1", "m1", "m2")]

    told = [(said.tokens_in, said.tokens_out) for line in lines for said in reader.feed(json.dumps(line).encode())]

    assert told == [(105, 7), (210, 14)]


def test_208_what_is_used_is_told_while_it_runs() -> None:
    reader = ADAPTERS["opencode"].reader()
    line = b'{"type":"step_finish","part":{"reason":"tool-calls","cost":1,"tokens":{"input":10,"output":1}}}'

    assert [said.cost_usd for _ in range(3) for said in reader.feed(line)] == [1.0, 2.0, 3.0]
