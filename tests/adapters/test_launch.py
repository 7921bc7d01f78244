"""What is started: nothing of a job can become an option, and nothing of the repository a setting."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from gitnexus.adapters import AgentBudget, AgentJob, Way
from gitnexus.adapters.protocol import Adapter, why_budget_exceeded
from gitnexus.adapters.table import ADAPTERS, find_adapter
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.catalog.harnesses import KNOWN_CLASSES

PAIRS = [pytest.param(one, way, id=f"{one.name}-{way}") for one in ADAPTERS.values() for way in one.ways]
SERVER = ("git", "nexus", "mcp", "--run", "r1")


@pytest.fixture
def job(tmp_path: Path) -> AgentJob:
    (tmp_path / "work").mkdir()
    return AgentJob(
        prompt="Mend it.",
        way="contained",
        folder=str(tmp_path / "work"),
        private=str(tmp_path / "private"),
        server=SERVER,
    )


def fit(job: AgentJob, adapter: Adapter, way: Way = "contained") -> AgentJob:
    """Return the job with what only this adapter needs."""
    return replace(job, way=way, command=("steps.json",) if adapter.name in ("command", "scripted") else ())


@pytest.mark.parametrize(("adapter", "way"), PAIRS)
def test_every_file_lies_below_the_private_folder_and_home_is_there(adapter: Adapter, way: Way, job: AgentJob) -> None:
    launch = adapter.launch(fit(job, adapter, way))

    for name in (*launch.files, *(place for _, place in launch.login)):
        assert not Path(name).is_absolute()
        assert ".." not in Path(name).parts
    assert launch.env["HOME"] == f"{job.private}/home"
    assert all("\0" not in word for word in launch.argv)


@pytest.mark.parametrize(("adapter", "way"), PAIRS)
def test_a_prompt_is_in_no_argument(adapter: Adapter, way: Way, job: AgentJob) -> None:
    launch = adapter.launch(replace(fit(job, adapter, way), prompt="--settings=evil", instructions="--model=evil"))

    assert not any("evil" in word for word in launch.argv)
    assert b"--settings=evil" in launch.stdin + b"".join(launch.files.values())


@pytest.mark.parametrize("prompt", ["/run rm -rf .", "!rm -rf .", "@/etc/passwd", "--yolo"])
@pytest.mark.parametrize("adapter", [one for one in ADAPTERS.values() if one.program], ids=lambda one: one.name)
def test_what_a_program_reads_never_begins_like_a_command_of_its_own(
    adapter: Adapter, prompt: str, job: AgentJob
) -> None:
    launch = adapter.launch(replace(fit(job, adapter), prompt=prompt))

    text = launch.files["prompt.txt"] if adapter.name == "aider" else launch.stdin
    assert text[:1].isalpha()


def test_a_proposer_starts_in_an_empty_folder_with_no_tools_of_the_program(job: AgentJob) -> None:
    claude = find_adapter("claude").launch(replace(job, way="proposer"))
    gemini = find_adapter("gemini").launch(replace(job, way="proposer"))
    opencode = find_adapter("opencode").launch(replace(job, way="proposer"))
    codex = find_adapter("codex").launch(replace(job, way="proposer"))

    assert {launch.start_in for launch in (claude, gemini, opencode, codex)} == {"empty"}
    assert "--tools=" in claude.argv
    assert "--allowedTools=mcp__nexus" in claude.argv
    rules = tomllib.loads(gemini.files["home/.gemini/policies/nexus.toml"].decode())["rule"]
    assert [rule["decision"] for rule in rules] == ["deny", "allow"]
    permission = json.loads(opencode.files["home/.config/opencode/opencode.json"])["permission"]
    assert permission == {"*": "deny", "nexus_*": "allow"}
    assert 'sandbox_mode="read-only"' in codex.argv


def test_what_a_role_may_not_do_becomes_the_programs_own_names(job: AgentJob) -> None:
    wanted = replace(job, denied=("shell_command_exec", "nexus_task_creation"))
    claude = find_adapter("claude").launch(wanted)
    codex = find_adapter("codex").launch(wanted)
    gemini = find_adapter("gemini").launch(wanted)
    opencode = find_adapter("opencode").launch(wanted)

    assert "--tools=Read,Glob,Grep,Edit,Write,NotebookEdit" in claude.argv
    assert any(word.startswith("--disallowedTools=Bash,") and "mcp__nexus__nx_task_add" in word for word in claude.argv)
    assert [codex.argv[at + 1] for at, word in enumerate(codex.argv) if word == "--disable"] == [
        "shell_tool",
        "unified_exec",
    ]
    config = tomllib.loads(codex.files["codex/config.toml"].decode())
    assert "nx_task_add" in config["mcp_servers"]["nexus"]["disabled_tools"]
    rules = tomllib.loads(gemini.files["home/.gemini/policies/nexus.toml"].decode())["rule"]
    assert {"toolName": "run_shell_command", "decision": "deny", "priority": 300} in rules
    assert {"mcpName": "nexus", "toolName": "nx_task_add", "decision": "deny", "priority": 300} in rules
    permission = json.loads(opencode.files["home/.config/opencode/opencode.json"])["permission"]
    assert (permission["bash"], permission["nexus_nx_task_add"], permission["edit"]) == ("deny", "deny", "allow")


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=lambda one: one.name)
def test_a_class_of_tools_that_nobody_knows_is_refused_where_roles_count(adapter: Adapter, job: AgentJob) -> None:
    with pytest.raises(Invalid):
        adapter.launch(replace(fit(job, adapter), denied=("shel_command_exec",)))


@pytest.mark.parametrize("name", ["aider", "command", "scripted"])
def test_an_agent_that_cannot_be_held_to_a_role_is_not_started_in_it(name: str, job: AgentJob) -> None:
    with pytest.raises(Invalid) as refused:
        ADAPTERS[name].launch(replace(fit(job, ADAPTERS[name]), denied=("shell_command_exec",)))

    assert refused.value.message == f"{name} cannot enforce the limits of a role"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_every_class_can_be_denied(name: str, job: AgentJob) -> None:
    launch = ADAPTERS[name].launch(replace(job, denied=KNOWN_CLASSES))

    assert launch.argv


def test_words_with_quotes_and_controls_stay_one_value_in_toml(job: AgentJob) -> None:
    words = 'say "no"\n\\ \t\x7f\x00 [mcp_servers.evil] 😀'
    launch = find_adapter("codex").launch(replace(job, instructions=words, server=("a b", '"]\ncommand="sh')))

    config = tomllib.loads(launch.files["codex/config.toml"].decode())
    assert config["developer_instructions"] == words
    assert config["mcp_servers"]["nexus"]["command"] == "a b"
    assert config["mcp_servers"]["nexus"]["args"] == ['"]\ncommand="sh']


def test_budgets_become_options_where_there_are_some(job: AgentJob) -> None:
    claude = find_adapter("claude").launch(replace(job, budget=AgentBudget(usd=1.5, turns=7)))
    gemini = find_adapter("gemini").launch(replace(job, budget=AgentBudget(turns=7)))

    assert {"--max-budget-usd=1.5", "--max-turns=7"} <= set(claude.argv)
    assert json.loads(gemini.files["home/.gemini/settings.json"])["model"] == {"maxSessionTurns": 7}


def test_what_is_used_up_is_told_and_an_unknown_cost_is_no_excuse() -> None:
    said = (
        ADAPTERS["opencode"]
        .reader()
        .feed(b'{"type":"step_finish","part":{"reason":"tool-calls","cost":0.5,"tokens":{"input":900,"output":200}}}')[
            0
        ]
    )

    assert why_budget_exceeded(AgentBudget(usd=0.4), said) == "it cost 0.50 USD of 0.40"
    assert why_budget_exceeded(AgentBudget(tokens=1000), said) == "it used 1100 tokens of 1000"
    assert why_budget_exceeded(AgentBudget(usd=0.5, tokens=1100), said) is None


def test_a_command_is_started_as_it_was_given_and_its_status_decides(job: AgentJob) -> None:
    launch = ADAPTERS["command"].launch(replace(job, command=("make", "--", "it")))
    reader = ADAPTERS["command"].reader()
    said = [one.text for line in (b"one", b"", b"\x1b[2Jtwo\r") for one in reader.feed(line)]

    assert (launch.argv, launch.network, launch.start_in) == (("make", "--", "it"), "none", "folder")
    assert said == ["one", "\\x1b[2Jtwo"]
    assert [reader.end(status).reason for status in (0, 3, -15)] == ["completed", "failed", "killed"]


def test_a_command_that_is_none_is_refused(job: AgentJob) -> None:
    with pytest.raises(Invalid):
        ADAPTERS["command"].launch(job)


def test_a_name_that_is_no_agent_is_refused_with_those_that_are() -> None:
    with pytest.raises(NotFound) as refused:
        find_adapter("cursor")

    assert refused.value.hint == f"there are: {', '.join(ADAPTERS)}"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "aider"])
def test_a_model_elsewhere_is_told_to_the_program_and_is_the_only_host(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    wanted = AgentJob(
        prompt="p", way="contained", folder=str(tmp_path / "folder"), private=str(tmp_path / "private"),
        model="a/b", address="http://localhost:4000/v1",
    )  # fmt: skip

    launch = find_adapter(name).launch(wanted)
    told = [*launch.env.values(), *(content.decode() for content in launch.files.values())]

    assert any("http://localhost:4000/v1" in text for text in told)
    assert launch.hosts == ("localhost:4000",)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://a:b@host", "http://", "http://h/?q", "localhost:1", "http://h/ x"]
)
def test_what_is_no_address_is_refused(address: str, tmp_path: Path) -> None:
    wanted = AgentJob(prompt="p", way="contained", folder="/w", private=str(tmp_path), model="a/b", address=address)

    with pytest.raises(Invalid):
        find_adapter("codex").launch(wanted)
