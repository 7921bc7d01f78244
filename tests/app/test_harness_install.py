"""Installing into a program and out again: every file, every program, and whatever was there before."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gitnexus.app.harness_doctor import summarize_harnesses
from gitnexus.app.harness_install import (
    ClientConfig,
    install_harness,
    install_statuses,
    uninstall_harness,
    write_plugin,
)
from gitnexus.base.errors import BadUsage, Invalid, NotFound
from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.harness.install import transition
from gitnexus.harness.install.context import hook_shell_line
from gitnexus.harness.install.jsontext import parse_json_text
from gitnexus.harness.install.model import SCOPES, Scope
from gitnexus.harness.install.trust import codex_hook_states
from gitnexus.harness.protocols.table import NAMES, load_harness_protocol
from tests.conftest import Nexus, run_git

PROGRAMS = [*NAMES, "cursor"]
SETTINGS = {
    ".claude/settings.json": '{\r\n    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}\r\n}',
    ".mcp.json": '{"mcpServers": {"other": {"command": "x"}}}\n',
    ".codex/config.toml": '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "x"',
    ".codex/hooks.json": "{}",
    ".gemini/settings.json": '\ufeff{\n\t"ui": {"theme": "x"}, // mine\n\t"mcpServers": {},\n}\n',
    "opencode.jsonc": '// mine\n{\n  "model": "x", /* y */\n}\n',
    ".cursor/mcp.json": "\n",
    ".geminiignore": "*.bin",
    "AGENTS.md": "# Ours\r\n\r\nBe kind.",
    "CLAUDE.md": "@AGENTS.md\n",
    ".claude/agents/mine.md": "mine\n",
}


def tree(root: Path) -> dict[str, bytes | None]:
    """Return every file and folder below a place, but git's and ours."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
        if not {".git", ".nexus", "nexus"} & set(path.relative_to(root).parts)
    }


def lay(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def put(place: Path, name: str, scope: Scope = "project", given: ClientConfig | None = None) -> list[str]:
    return install_harness(place, name, scope, given, dry_run=False).notes


def take(place: Path, name: str, scope: Scope = "project", given: ClientConfig | None = None) -> list[str]:
    return uninstall_harness(place, name, scope, given, dry_run=False).notes


def loaded(path: Path) -> dict[str, object]:
    node = parse_json_text(path.read_text(encoding="utf-8"), str(path))
    assert node is not None
    assert isinstance(node.value, dict)
    return node.value


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_out_again_every_byte_and_folder_is_as_it_was(name: str, scope: Scope, repository: Path, sealed: Path) -> None:
    root = repository if scope == "project" else sealed
    lay(root, SETTINGS)
    before = tree(root)

    put(repository, name, scope)
    during = tree(root)
    take(repository, name, scope)

    assert during != before
    assert not (repository / ".git" / "nexus").exists()
    assert all(during[path] is not None for path in before if before[path] is not None), "nothing of theirs went"
    assert tree(root) == before


def test_all_programs_in_one_repository_come_and_go_in_any_order(repository: Path) -> None:
    lay(repository, SETTINGS)
    before = tree(repository)

    for name in PROGRAMS:
        put(repository, name)
    agents = (repository / "AGENTS.md").read_text(encoding="utf-8")
    take(repository, "codex")
    shared = (repository / "AGENTS.md").read_text(encoding="utf-8")
    for name in ("cursor", "claude-code", "opencode", "gemini-cli"):
        take(repository, name)

    assert agents.count(">>> git nexus >>>") == 1
    assert shared == agents, "the block stays as long as one of the two programs is there"
    assert tree(repository) == before


def test_no_file_of_a_project_names_this_machine(repository: Path, sealed: Path) -> None:
    before = tree(repository)

    for name in PROGRAMS:
        put(repository, name)

    for path, raw in tree(repository).items():
        if raw is not None and raw != before.get(path):
            for word in (str(sealed), str(repository), str(Path(sys.executable).parent)):
                assert word not in raw.decode(), path


def test_twice_is_harmless_and_a_dry_run_writes_nothing(repository: Path) -> None:
    lay(repository, SETTINGS)
    before = tree(repository)

    told = install_harness(repository, "claude-code", "project", None, dry_run=True)
    untouched = tree(repository)
    first = install_harness(repository, "claude-code", "project", None, dry_run=False)
    second = install_harness(repository, "claude-code", "project", None, dry_run=False)

    assert untouched == before
    assert [change.path for change in told.changes] == [change.path for change in first.changes]
    assert second.changes == []


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (".gemini/settings.json", '{\n "a": 1\n "b": 2}', "line 3, column 2"),
        (".gemini/settings.json", "\xff", "is not UTF-8"),
        (".gemini/settings.json", '{"hooks": 1}', "hooks should be an object"),
    ],
)
def test_a_file_that_does_not_parse_refuses_all_of_it(repository: Path, file: str, text: str, words: str) -> None:
    lay(repository, SETTINGS)
    (repository / file).write_bytes(text.encode("latin-1"))
    before = tree(repository)

    with pytest.raises(Invalid, match=words) as refused:
        put(repository, "gemini-cli")

    assert "nothing was changed" in (refused.value.hint or "")
    assert tree(repository) == before


def test_what_somebody_wrote_meanwhile_stays(repository: Path) -> None:
    lay(repository, SETTINGS)
    put(repository, "codex")
    config = repository / ".codex" / "config.toml"
    config.write_bytes(config.read_bytes() + b'\n[projects."/x"]\ntrust_level = "trusted"\n')
    hooks = repository / ".codex" / "hooks.json"
    told = loaded(hooks)
    told["theirs"] = 1
    hooks.write_text(json.dumps(told))
    role = repository / ".codex" / "agents" / "tester.toml"
    role.write_text(role.read_text() + "# mine\n")

    notes = take(repository, "codex")

    assert config.read_text().startswith(SETTINGS[".codex/config.toml"])
    assert "nexus" not in tomllib.loads(config.read_text())["mcp_servers"]
    assert tomllib.loads(config.read_text())["projects"] == {"/x": {"trust_level": "trusted"}}
    assert loaded(hooks) == {"theirs": 1}
    assert role.exists(), "a file that a person went on with is theirs"
    assert notes == [f"{role} was changed since, so it stays"]


def test_a_role_or_a_server_of_the_persons_own_by_the_same_name_stays(repository: Path) -> None:
    lay(repository, {".claude/agents/tester.md": "mine\n", ".mcp.json": '{"mcpServers": {"nexus": {"command": "y"}}}'})
    before = tree(repository)

    notes = put(repository, "claude-code")
    assert (repository / ".claude/agents/tester.md").read_text() == "mine\n"
    take(repository, "claude-code")

    assert [note.split("/")[-1] for note in notes] == [
        ".mcp.json has mcpServers.nexus already, so that stays as it is",
        "tester.md is not ours, so it stays as it is",
    ]
    assert tree(repository) == before


def test_a_link_is_followed_within_the_project_and_never_out_of_it(repository: Path, tmp_path: Path) -> None:
    (repository / "AGENTS.md").write_text("one file\n")
    (repository / "CLAUDE.md").symlink_to("AGENTS.md")
    put(repository, "claude-code")
    put(repository, "codex")
    text = (repository / "AGENTS.md").read_text()
    take(repository, "claude-code")
    take(repository, "codex")
    (tmp_path / "elsewhere").mkdir()
    (repository / ".gemini").symlink_to(tmp_path / "elsewhere")

    assert text.count(">>> git nexus >>>") == 1
    assert (repository / "CLAUDE.md").is_symlink()
    assert (repository / "AGENTS.md").read_text() == "one file\n"
    with pytest.raises(Invalid, match="leads out of"):
        put(repository, "gemini-cli")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("written", [0, 1, 7, 16])
@pytest.mark.parametrize("heal", ["install", "uninstall"])
def test_a_kill_in_between_is_known_and_healed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, written: int, heal: str
) -> None:
    lay(repository, SETTINGS)
    before = tree(repository)
    count = 0
    real = transition.replace_file

    def killed(path: Path, data: bytes) -> None:
        nonlocal count
        if count == written:
            raise KeyboardInterrupt
        count += 1
        real(path, data)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(transition, "replace_file", killed)
        put(repository, "codex")
    half = next(one for one in install_statuses(repository, ["codex"]) if one.scope == "project")
    if heal == "install":
        put(repository, "codex")
        whole = next(one for one in install_statuses(repository, ["codex"]) if one.scope == "project")
        assert (whole.how, {file.state for file in whole.files}) == ("yes", {"as installed"})
    take(repository, "codex")

    assert half.how == "half"
    assert tree(repository) == before


def test_in_a_clone_it_is_seen_taken_over_and_taken_out(repository: Path, tmp_path: Path) -> None:
    lay(repository, {"AGENTS.md": "kind\n", ".codex/hooks.json": '{\n  "theirs": 1\n}\n'})
    run_git(repository, "add", "-A")
    run_git(repository, "commit", "-qm", "before")
    bare = tree(repository)
    put(repository, "codex")
    run_git(repository, "add", "-A")
    run_git(repository, "commit", "-qm", "nexus")
    for clone in ("one", "two"):
        run_git(tmp_path, "clone", "-q", str(repository), clone)

    seen = next(one for one in install_statuses(tmp_path / "one", ["codex"]) if one.scope == "project")
    take(tmp_path / "one", "codex")
    over = install_harness(tmp_path / "two", "codex", "project", None, dry_run=False)
    take(tmp_path / "two", "codex")

    assert seen.how == "unrecorded"
    assert over.changes == []
    for clone in ("one", "two"):
        assert tree(tmp_path / clone) == bare


def test_an_older_plan_is_stale_and_is_brought_up_to_date(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(transition, "__version__", "0.0.1")
        put(repository, "claude-code")

    old = next(one for one in install_statuses(repository, ["claude-code"]) if one.scope == "project")
    put(repository, "claude-code")
    new = next(one for one in install_statuses(repository, ["claude-code"]) if one.scope == "project")

    assert (old.version, old.stale, new.stale) == ("0.0.1", True, False)


@pytest.mark.parametrize("name", NAMES)
def test_every_event_of_a_program_has_its_hook_in_the_programs_own_unit_of_time(name: str, repository: Path) -> None:
    put(repository, name)
    if name == "opencode":
        text = (repository / ".opencode/plugins/git-nexus.js").read_text()
        assert set(re.findall(r'"(\w+_\w+)"', text)) >= set(load_harness_protocol(name).events)
        return
    file = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini-cli": ".gemini/settings.json"}
    hooks = loaded(repository / file[name])["hooks"]
    assert isinstance(hooks, dict)

    assert set(hooks) == {own for names in load_harness_protocol(name).events.values() for own in names}
    gate = hooks[load_harness_protocol(name).events["pre_tool_use"][0]][0]
    assert gate["matcher"] == "*"
    assert gate["hooks"][0]["timeout"] == (30_000 if name == "gemini-cli" else 30)
    assert gate["hooks"][0].get("onFailure") == ("block" if name == "claude-code" else None)


@pytest.mark.parametrize("name", NAMES)
def test_the_nine_roles_are_there_with_what_they_may_not_do(name: str, repository: Path) -> None:
    put(repository, name)
    folder = {"claude-code": ".claude", "codex": ".codex", "gemini-cli": ".gemini", "opencode": ".opencode"}[name]
    roles = {path.stem: path.read_text() for path in (repository / folder / "agents").iterdir()}

    assert len(roles) == 9
    assert "nx_task_add" in roles["engineer"]
    for text in roles.values():
        assert f"## In {HARNESSES[name].name}" in text
        assert HARNESSES[name].notes["resume_invocation"] in text
    if name == "claude-code":
        denied = re.search(r"^disallowedTools: (.*)$", roles["architect"], re.MULTILINE)
        assert denied is not None
        assert {"Write", "Edit", "NotebookEdit", "mcp__nexus__nx_task_add"} <= set(denied[1].split(", "))
        assert "Write" not in roles["engineer"].partition("\n---\n")[0]
    if name == "codex":
        assert tomllib.loads(roles["architect"])["sandbox_mode"] == "read-only"
        assert "sandbox_mode" not in tomllib.loads(roles["engineer"])
        assert "nx_task_add" in tomllib.loads(roles["engineer"])["mcp_servers"]["nexus"]["disabled_tools"]
    if name == "gemini-cli":
        tools = re.search(r"^tools: \[(.*)\]$", roles["architect"], re.MULTILINE)
        assert tools is not None
        assert "mcp_nexus_nx_task_list" in tools[1]
        assert not {"write_file", "replace", "mcp_nexus_nx_task_add"} & set(tools[1].split(", "))
    if name == "opencode":
        assert '\n  "edit": deny\n' in roles["architect"]
        assert '\n  "edit": deny\n' not in roles["engineer"]


def test_the_hook_of_the_gate_blocks_where_git_nexus_is_missing_and_no_other_does(tmp_path: Path) -> None:
    for name in ("git", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}

    gate, other = (
        subprocess.run(
            ["sh", "-c", hook_shell_line(("git", "nexus"), "codex", event)],
            env=env, input="{}", capture_output=True, text=True, check=False,
        )
        for event in ("pre_tool_use", "user_message")
    )  # fmt: skip

    assert gate.returncode == 2
    assert "git nexus did not answer, so nothing is run" in gate.stderr
    assert other.returncode == 0


def test_a_refusal_of_the_gate_itself_passes_through_unchanged(tmp_path: Path) -> None:
    (tmp_path / "git-nexus").write_text("#!/bin/sh\ncat >&2\nexit 2\n")
    (tmp_path / "git-nexus").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    done = subprocess.run(
        ["sh", "-c", hook_shell_line(("git", "nexus"), "codex", "pre_tool_use")],
        env=env, input="not this", capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (2, "not this")


def test_gemini_may_read_what_is_known_and_nothing_else_that_git_ignores(repository: Path, sealed: Path) -> None:
    lay(repository, {".geminiignore": "*.bin"})
    put(repository, "gemini-cli")
    put(repository, "gemini-cli", "user")

    lines = (repository / ".geminiignore").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == [
        *("*.bin", "!/.nexus/", "/.nexus/*", "!/.nexus/memory/", "!/.nexus/context/", "!/.nexus/rules/")
    ]
    assert not list(sealed.glob("**/.geminiignore"))

    take(repository, "gemini-cli")
    assert (repository / ".geminiignore").read_text() == "*.bin"


def test_opencode_is_late_until_its_own_package_was_fetched(repository: Path, sealed: Path) -> None:
    put(repository, "opencode")

    def waits() -> list[str]:
        return next(one for one in install_statuses(repository, ["opencode"]) if one.scope == "project").waits

    first = waits()
    places = (sealed / ".config" / "opencode", repository / ".opencode")
    for place in places:
        (place / "node_modules").mkdir(parents=True)
        lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}}
        (place / "package-lock.json").write_text(json.dumps(lock))
    second = waits()
    (places[1] / "package-lock.json").write_text("{")
    third = waits()

    assert len(first) == 1
    assert f"downloads @opencode-ai/plugin into {places[0]}, {places[1]} at its next start" in first[0]
    assert first[0].endswith("; npm_config_offline=true opencode starts at once")
    assert second == []
    assert f"into {places[1]} at" in third[0]


def test_codex_hooks_are_untrusted_until_the_person_trusted_just_these(repository: Path, sealed: Path) -> None:
    put(repository, "codex")
    path = repository / ".codex" / "hooks.json"

    def waits() -> list[str]:
        return next(one for one in install_statuses(repository, ["codex"]) if one.scope == "project").waits

    def trusted(text: str) -> None:
        (sealed / ".codex").mkdir(exist_ok=True)
        (sealed / ".codex" / "config.toml").write_text(text)

    first = waits()
    trusted(f'[projects."{repository}"]\ntrust_level = "trusted"\n')
    second = waits()
    keys = codex_hook_states(path, {})
    assert len(keys) >= 8
    rows = "".join(f'[hooks.state."{key}"]\ntrusted_hash = "sha256:0"\n' for key in keys)
    trusted(f'[projects."{repository}"]\ntrust_level = "trusted"\n{rows}')
    third = waits()

    untrusted = f"{len(keys)} of {len(keys)} hooks are untrusted and do not run: start codex and open /hooks"
    assert first == ["the project is not trusted: start codex in it and confirm", untrusted]
    assert second == [untrusted]
    assert third == [f"{len(keys)} hooks changed since you trusted them: start codex and open /hooks"]


def test_the_hash_of_a_codex_hook_is_the_one_that_codex_takes(tmp_path: Path) -> None:
    command = "git nexus hook harness codex pre_tool_use || :"
    file = tmp_path / "hooks.json"
    file.write_text(
        json.dumps(
            {
                "hooks": {
                    "PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": 5}]}]
                }
            }
        )
    )
    # What codex app-server 0.166 answers to hooks/list for this very file.
    told = "sha256:a2a52345040d5a3829f70c5f01a312f3cdfec6ac9c4cef18196569ac27573f55"

    assert codex_hook_states(file, {f"{file}:pre_tool_use:0:0": {"trusted_hash": told}}) == {
        f"{file}:pre_tool_use:0:0": "trusted"
    }
    assert codex_hook_states(file, {f"{file}:pre_tool_use:0:0": {"enabled": False}}) == {
        f"{file}:pre_tool_use:0:0": "off"
    }


def test_settings_that_claude_code_would_pass_over_are_pointed_out(repository: Path) -> None:
    lay(repository, {".claude/settings.json": "{ // a comment\n}\n"})

    notes = put(repository, "claude-code")
    waits = next(one for one in install_statuses(repository, ["claude-code"]) if one.scope == "project").waits

    words = "settings.json has a comment or a trailing comma: the program ignores the whole file"
    assert [note for note in notes if note.endswith(words)]
    assert [note for note in waits if note.endswith(words)]


def test_any_client_by_its_config(repository: Path) -> None:
    lay(repository, {"a.json": '{"servers": {}}', "b.toml": "x = 1"})
    before = tree(repository)
    given = [ClientConfig(repository / "a.json", "servers"), ClientConfig(repository / "b.toml", "mcp_servers")]

    for one in given:
        put(repository, "mcp", given=one)
    during = (loaded(repository / "a.json"), tomllib.loads((repository / "b.toml").read_text()))
    both = [one for one in install_statuses(repository, ["mcp"]) if one.scope == "project"]
    take(repository, "mcp", given=given[0])
    still = (repository / "b.toml").read_text()
    take(repository, "mcp", given=given[1])

    server = {"command": "git", "args": ["nexus", "mcp", "--harness", "mcp"]}
    assert during == ({"servers": {"nexus": server}}, {"x": 1, "mcp_servers": {"nexus": server}})
    assert [one.how for one in both] == ["yes", "yes"]
    assert "nexus" in still
    assert tree(repository) == before
    with pytest.raises(BadUsage, match="which file"):
        put(repository, "mcp")


def test_a_plugin_folder_for_claude_code(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plugin"

    write_plugin(repository, folder, out=False, dry_run=False)
    files = {path for path, raw in tree(folder).items() if raw is not None}
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    role = (folder / "agents" / "engineer.md").read_text()
    write_plugin(repository, folder, out=True, dry_run=False)

    assert manifest["name"] == "git-nexus"
    assert {"hooks/hooks.json", ".mcp.json", "commands/plan.md", "skills/nx-plan/SKILL.md"} <= files
    assert "mcp__plugin_git-nexus_nexus__nx_task_add" in role
    assert not folder.exists()


def test_in_a_repository_that_is_no_project_it_is_said_that_all_is_refused_until_it_is(nexus: Nexus) -> None:
    done = install_harness(nexus.place, "codex", "project", None, dry_run=False)
    before = next(install_statuses(nexus.place, ["codex"]))
    words = [(one.check, one.state, one.hint) for one in summarize_harnesses(nexus.place)]
    nexus.ok("init")

    assert done.next.startswith("git nexus init, for this repository is not a project yet")
    assert (before.lawless, words) == (True, [("harness", "problem", "git nexus init")])
    assert not next(install_statuses(nexus.place, ["codex"])).lawless
    assert install_harness(nexus.place, "codex", "project", None, dry_run=False).next.startswith("start codex")


def test_the_way_back_can_be_pasted_whatever_a_path_holds(repository: Path) -> None:
    folder = repository / "it's a plugin"
    given = ClientConfig(repository / "a b.json", "servers")
    client = install_harness(repository, "mcp", "project", given, dry_run=True)
    plugin = write_plugin(repository, repository / "x" / ".." / folder.name, out=False, dry_run=True)

    undo = ["git", "nexus", "harness", "uninstall"]
    assert shlex.split(client.undo) == [*undo, "mcp", "--config", str(given.file), "--key", "servers"]
    assert shlex.split(plugin.undo) == [*undo, "claude-code", "--plugin", str(folder)]
    assert shlex.split(plugin.next)[:3] == ["claude", "--plugin-dir", str(folder)]


def test_a_program_that_we_do_not_know_is_named_with_those_we_do(repository: Path) -> None:
    with pytest.raises(NotFound) as refused:
        put(repository, "emacs")

    assert "claude-code, codex, gemini-cli, opencode, cursor, mcp" in (refused.value.hint or "")


def test_two_programs_never_share_a_folder_of_state(repository: Path) -> None:
    for name in PROGRAMS:
        put(repository, name)

    named = {
        path: set(re.findall(r"--harness[\", ]+([a-z-]+)|hook harness ([a-z-]+) ", raw.decode()))
        for path, raw in tree(repository).items()
        if raw is not None
    }

    for path, names in named.items():
        found = {one or other for one, other in names} & set(NAMES)
        assert len(found) <= 1, f"{path} speaks for two programs"


def test_init_installs_and_uninstall_takes_out(nexus: Nexus) -> None:
    before = tree(nexus.place)

    refused = nexus("init", "--harness", "emacs")
    untouched = run_git(nexus.place, "for-each-ref", "refs/nexus")
    told = nexus.ok("init", "--harness", "claude-code", "--harness", "codex")
    doctor = nexus("doctor").stdout
    out = nexus.ok("uninstall")

    assert refused.returncode == 4
    assert untouched == ""
    assert "installed into Claude Code (16 files)" in told
    assert "Codex (project scope): the project is not trusted" in doctor
    assert "removed git nexus from the files of codex" in out
    assert tree(nexus.place) == before
