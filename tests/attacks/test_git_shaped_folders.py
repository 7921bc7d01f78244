"""A folder that git takes for a repository, and files that other programs obey: not written, and not looked into."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.git.shape import HOOKS, why_git_obeys
from gitnexus.harness.model import HarnessEvent
from gitnexus.policy.builtin import secret_pattern_for, tag_to_ask
from gitnexus.policy.obeyed import OBEYED
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.toolgate.gate import answer_tool_call
from tests.conftest import Nexus, run_git
from tests.runs.begun import begun

RULES = """---
version: 1
allow:
- write: ["src/**"]
- run: [git, status]
- run: [cd, "**"]
- {run: [make, all], unconfined: true}
- {run: [python3, -m, pytest], unconfined: true}
- {run: [python3, -mpytest], unconfined: true}
- {run: [rake], unconfined: true}
---
"""
CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "sh -c id"\n'


@pytest.fixture
def place(project: Path, sealed: Path) -> Path:
    (project / "src").mkdir()
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus" / "policy.md").write_text(RULES)
    return project


def said(place: Path, harness: str, tool: str, given: dict[str, Any]) -> tuple[str, str]:
    told = HarnessEvent(harness, "pre_tool_use", "PreToolUse", tool=tool, given=given, session="s", cwd=str(place))
    answer = answer_tool_call(told)
    return answer.verdict, answer.reason


def added(path: str, text: str) -> dict[str, str]:
    lines = "".join(f"+{line}\n" for line in text.removesuffix("\n").split("\n"))
    return {"command": f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"}


def written(place: Path, path: str, text: str) -> list[tuple[str, str]]:
    """Return what each program is told that would write a file."""
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("claude-code", "Write", {"file_path": path, "content": text}),
        ("codex", "apply_patch", added(path, text)),
        ("gemini-cli", "write_file", {"file_path": path, "content": text}),
        ("opencode", "write", {"filePath": path, "content": text}),
    ]
    return [said(place, *row) for row in rows]


def test_nobody_writes_a_folder_that_git_takes_for_a_repository(place: Path) -> None:
    for path, text in (
        ("src/x/HEAD", "ref: refs/heads/main\n"),
        ("src/x/head", "a" * 40 + "\n"),
        ("src/x/HEAD", "0" * 40 + " junk\n"),
        ("src/x/config", f"x = 1\n{CONFIG}"),
        ("src/x/config", '[a "b"] [core] fsmonitor = id\n'),
        ("src/x/config", f"{CONFIG}x = a\u2028!!\n"),
        ("src/x/commondir", "../y\n"),
        ("src/x/config", CONFIG),
        ("src/notes.ini", CONFIG),
        ("src/link", "gitdir: /tmp/evil\n"),
    ):
        for verdict, why in written(place, path, text):
            assert (verdict, "git treats" in why) == ("deny", True), (path, verdict, why)
    for path, text in (("src/HEAD", "# How we cut heads\n"), ("src/config", "[tool]\nname = x\n"), ("src/a.py", "x\n")):
        assert {verdict for verdict, _ in written(place, path, text)} == {"allow"}, path


def test_a_config_is_refused_also_where_it_is_made_in_pieces(place: Path) -> None:
    (place / "src" / "config").write_text("[core]\n\tbare = false\n")
    edit = {"file_path": "src/config", "old_string": "bare = false", "new_string": "fsmonitor = id"}

    assert said(place, "claude-code", "Edit", {**edit, "new_string": "bare = true"})[0] == "allow"
    assert said(place, "claude-code", "Edit", edit)[0] == "deny"


def patched(place: Path, headlines: str, *lines: str) -> list[str]:
    """Return what Codex and OpenCode are told that would apply a patch."""
    text = "\n".join(["*** Begin Patch", headlines, *lines, "*** End Patch", ""])
    rows = [("codex", "apply_patch", {"command": text}), ("opencode", "apply_patch", {"patchText": text})]
    return [said(place, *row)[0] for row in rows]


MOVED = "*** Update File: src/q/{}\n*** Move to: src/q/{}"


@pytest.mark.parametrize(
    ("held", "headlines", "lines"),
    [
        ({"HEAD": "hello\n"}, "*** Update File: src/q/HEAD", ("-hello", "+ref: refs/heads/main")),
        ({"HEAD": "hello\n"}, "*** Update File: src/q/HEAD", ("@@", "-hello ", "+ref: refs/heads/main")),
        ({"HEAD": "hello\n"}, "*** Update File: src/q/HEAD", ("@@ hello", "+ref: refs/heads/main")),
        ({"HEAD": "*** Update File: z\nh\n"}, "*** Update File: src/q/HEAD",
         ("@@", " *** Update File: z", "-h", "+ref: refs/heads/main")),
        ({"note": "ref: refs/heads/main\n"}, MOVED.format("note", "HEAD"), ()),
        ({"note": "x\nref: refs/heads/main\n"}, MOVED.format("note", "HEAD"), ("@@", "-x")),
        ({"note": "x\n"}, "*** Add File: src/q/new\n+ref: refs/heads/main\n" + MOVED.format("new", "HEAD"), ()),
        ({"config": "hello\n"}, "*** Update File: src/q/config", ("-hello", "+[core]", "+fsmonitor = id")),
        ({"config": "[core]\n$$\nfsmonitor = id\n"}, "*** Update File: src/q/config", ("@@", "-$$")),
        ({"note": "[core]\nfsmonitor = id\n"}, MOVED.format("note", "config"), ()),
    ],
)  # fmt: skip
def test_a_patch_makes_no_repository_in_pieces(
    place: Path, held: dict[str, str], headlines: str, lines: tuple[str, ...]
) -> None:
    (place / "src" / "q").mkdir()
    for name, text in held.items():
        (place / "src" / "q" / name).write_text(text)

    assert set(patched(place, headlines, *lines)) == {"deny"}


def test_a_patch_of_an_honest_file_of_such_a_name_is_one_like_any_other(place: Path) -> None:
    for name in ("HEAD", "config"):
        (place / "src" / name).write_text("one\ntwo\n")
        done = patched(place, f"*** Update File: src/{name}", "@@", " one", "-two", "+three")
        assert set(done) == {"allow"}, name


def test_an_edit_that_replaces_what_is_only_alike_makes_no_head(place: Path) -> None:
    (place / "src" / "HEAD").write_text("hello\n")
    edit = {"filePath": "src/HEAD", "oldString": "  hello", "newString": "ref: refs/heads/main"}

    assert said(place, "opencode", "edit", edit)[0] == "deny"


def test_a_hook_of_every_name_asks(place: Path) -> None:
    for name in HOOKS:
        assert tag_to_ask(f"src/hooks/{name}") == "hooks", name
    assert "allow" not in {verdict for verdict, _ in written(place, "src/x/hooks/post-index-change", "id\n")}


def test_a_run_makes_no_repository(place: Path, nexus: Nexus) -> None:
    text = (
        'mkdir -p src/x/objects src/x/refs; echo "$(printf %040d 0) junk" > src/x/HEAD; touch src/x/objects/k '
        'src/x/refs/k; printf "x = 1\\n[core]\\nfsmonitor = id\\n" > src/x/config'
    )

    done = nexus("run", "--", "bash", "-c", text)

    assert "git treats" in done.stdout + done.stderr
    assert "a1 patch executed" not in done.stdout + done.stderr


def test_artifacts_are_no_repository_and_hold_no_secret(place: Path, nexus: Nexus) -> None:
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("a/HEAD", "0" * 40 + " x"), ("config", CONFIG)):
        done = nexus("tool", "artifact_write", json.dumps({"filename": name, "content": text}))
        assert "git treats" in done.stdout + done.stderr, name
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    done = nexus("tool", "artifact_write", json.dumps({"filename": "a.md", "content": f"the token is {secret}\n"}))
    kept = (place / ".nexus" / "state" / "artifacts" / "a.md").read_text()
    assert kept.startswith("the token is ")
    assert secret not in kept


def test_git_is_not_let_look_at_a_repository_that_an_agent_could_have_made(place: Path) -> None:
    assert said(place, "codex", "Bash", {"command": "git status"})[0] == "allow"
    assert said(place, "codex", "Bash", {"command": "git status", "workdir": "src"})[0] == "allow"
    for made in ("src/bare", "src/whole"):
        bare = ["--bare"] if made.endswith("bare") else []
        subprocess.run(["git", "init", "-q", *bare, str(place / made)], check=True)
        for harness, tool in (("codex", "Bash"), ("opencode", "bash"), ("gemini-cli", "run_shell_command")):
            folder = "dir_path" if harness == "gemini-cli" else "workdir"
            verdict, why = said(place, harness, tool, {"command": "git status", folder: made})
            assert (verdict, "an agent could have made" in why) == ("deny", True), (made, harness, why)
        assert said(place, "claude-code", "Bash", {"command": f"cd {made} && git status"})[0] == "deny"


def test_the_repository_of_a_folder_that_became_one_is_noticed(place: Path) -> None:
    given = {"command": ["git", "status"], "workdir": "src"}
    assert [said(place, "codex", "shell", given)[0] for _ in range(2)] == ["allow", "allow"]
    subprocess.run(["git", "init", "-q", "--bare", str(place / "src")], check=True)
    assert said(place, "codex", "shell", given)[0] == "deny"


def test_a_program_that_obeys_files_of_its_folder_asks_while_they_are_not_as_committed(place: Path) -> None:
    (place / "Makefile").write_text("all:\n")
    verdict, why = said(place, "codex", "Bash", {"command": "make all"})
    assert (verdict, "make obeys Makefile" in why) == ("deny", True), why
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "make")
    assert said(place, "codex", "Bash", {"command": "make all"})[0] == "allow"
    (place / "src" / "GNUmakefile").write_text("all:\n\tid\n")
    given = {"command": "make all", "workdir": "src"}
    assert "make obeys src/GNUmakefile" in said(place, "codex", "Bash", given)[1]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("python3 -m pytest", "conftest.py"),
        ("python3 -mpytest", "pytest.toml"),
        ("rake", "rakelib/x.rake"),
    ],
)
def test_a_program_is_judged_with_its_files_however_it_is_named(place: Path, command: str, file: str) -> None:
    (place / file).parent.mkdir(exist_ok=True)
    assert [said(place, "codex", "Bash", {"command": command})[0] for _ in range(2)] == ["allow", "allow"]
    (place / file).write_text("x\n")
    verdict, why = said(place, "codex", "Bash", {"command": command})
    assert (verdict, f"obeys {file}" in why) == ("deny", True), why


UNCOVERED = """
    .prettierrc .prettierrc.json .prettierrc.toml prettier.config.mjs tox.toml toxfile.py .pytest.ini pytest.toml BUILD
    BUILD.bazel WORKSPACE.bazel tools/bazel .bazelversion rakefile.rb Rakefile.rb rakelib/x.rake Taskfile.dist.yml
    taskfile.yml deno.json deno.jsonc gradle.properties init.gradle gradle/wrapper/gradle-wrapper.properties .pnp.cjs
    .yarn/plugins/x.cjs pnpm-workspace.yaml node_modules/.bin/x vitest.workspace.ts eslint.config.mjs eslint.config.ts
    .eslintrc .eslintrc.json jest.config.mjs vitest.config.mts .prettierrc.mjs Justfile .mvn/maven.config
    buildSrc/build.gradle dodo.py tasks.py fabfile.py SConstruct Snakefile build.zig build.sbt Package.swift x.csproj
    Directory.Build.props playwright.config.ts next.config.js lint-staged.config.js lefthook-local.yml
    phpunit.xml .php-cs-fixer.dist.php stack.yaml Setup.hs deps.edn .ocamlinit .stylelintrc.js .nycrc ava.config.mjs
    astro.config.mjs nuxt.config.ts svelte.config.js metro.config.js .storybook/main.ts nodemon.json mkdocs.yml
    _plugins/x.rb .latexmkrc book.toml .luacheckrc .golangci.yml .rubocop.yml Guardfile Fastfile Tiltfile Makefile.PL
    conanfile.py gunicorn.conf.py config.nims build.xml commitlint.config.js hardhat.config.ts serverless.ts
    .devcontainer.json .zed/tasks.json .hg/hgrc .nvim.lua .dir-locals.el .Rprofile .pdbrc .curlrc .bashrc
"""


@pytest.mark.parametrize("name", UNCOVERED.split())
def test_a_file_that_some_program_obeys_asks(name: str) -> None:
    assert tag_to_ask(name)
    assert tag_to_ask(f"src/{name}")


def test_every_file_that_a_program_obeys_is_asked_about_when_it_is_written() -> None:
    for program, names in OBEYED.items():
        for name in names:
            path = f"src/{name.replace('*', 'x')}"
            assert tag_to_ask(path) or secret_pattern_for(path), (program, name)


def test_no_patch_of_a_run_makes_such_a_folder(place: Path) -> None:
    diff = "--- /dev/null\n+++ b/src/x/{}\n@@ -0,0 +1 @@\n+{}\n"
    with begun(place) as desk:
        for name, text in (("HEAD", "ref: refs/heads/main"), ("config", "[core] fsmonitor = id")):
            with pytest.raises(Invalid, match="git treats"):
                call_run_tool(desk, "propose_patch", {"patch": diff.format(name, text)})
        assert call_run_tool(desk, "propose_patch", {"patch": diff.format("HEAD", "a title")})["status"] == "executed"


@pytest.mark.parametrize(
    ("path", "text", "refused"),
    [
        ("HEAD", None, True),
        ("a/HEAD.", "ref:refs/heads/x", True),
        ("HEAD", "ref: something else", False),
        ("x.gitconfig", "; c\n[include]\n\tpath = ~/x\n", True),
        ("x", "[alias]\n\tst = !id\n", True),
        ("x", "\ufeff[core]\npager = id\n", True),
        ("x", '[filter "a b"]\n\tclean = id\n', True),
        ("README.md", "# Git\n\nWrite this:\n\n    [core]\n    fsmonitor = x\n", False),
        ("x", '[a "b"][alias] st = !id', True),
        ("x", "[pager]\n\tstatus = id\n", True),
        ("x", "[core]\r\n\tfsmonitor = a \\\r\n b # c\r\n", True),
        ("x", 'k\n# [\n[core] x = "a;b" ; c\npager = "#"\n', True),
        (".env", "PATH=/x\nLIST=[a]\n", False),
        ("x.md", "Path\n\n[core]\n\nwords and words\n", False),
        ("setup.cfg", "[tool:pytest]\naddopts = -q\n", False),
        ("pyproject.toml", '[tool.x]\ncommand = "y"\nlist = [\n  "a",\n]\n', False),
    ],
)
def test_what_git_takes_for_its_own(path: str, text: str | None, refused: bool) -> None:
    assert (why_git_obeys(path, text) is not None) == refused


def test_the_table_is_plain_json_for_who_reads_it() -> None:
    assert json.dumps(dict(OBEYED))
