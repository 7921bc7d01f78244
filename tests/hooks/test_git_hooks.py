"""The hooks as git runs them."""

import subprocess
from pathlib import Path

import pytest

from gitnexus.redaction.rules import RULES
from tests.conftest import Nexus, run_git

TRAILERS = "Nexus-Run: r1\nNexus-Action: a1\nNexus-Agent: scripted\nNexus-Approval: nx1.e30.sig"


def commit(place: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", "commit", *argv], cwd=place, capture_output=True, text=True, check=False)


def staged(place: Path, name: str, text: str) -> None:
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(text)
    run_git(place, "add", "-f", name)


def message(place: Path) -> str:
    return run_git(place, "log", "-1", "--format=%B").strip()


def test_state_is_never_committed_to_a_branch(project: Path) -> None:
    staged(project, ".nexus/memory/a.md", "x")

    refused = commit(project, "-m", "oops")

    assert refused.returncode == 1
    assert refused.stderr == (
        "git nexus: refused: .nexus/memory/a.md is state: it lives on refs/nexus/state, not on a branch\n"
        "hint: unstage it with: git reset -- .nexus\n"
    )
    run_git(project, "reset", "-q", "--", ".nexus")
    assert run_git(project, "status", "--porcelain") == ""


def test_also_in_a_repository_without_a_commit_and_in_capital_letters(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    Nexus(tmp_path).ok("init")
    staged(tmp_path, ".NEXUS/x", "x")

    assert commit(tmp_path, "-m", "oops").returncode == 1


def test_taking_the_folder_out_of_a_branch_is_not_refused(project: Path) -> None:
    staged(project, ".nexus/memory/a.md", "x")
    assert commit(project, "--no-verify", "-qm", "the old way").returncode == 0
    run_git(project, "rm", "-rq", "--cached", ".nexus")

    assert commit(project, "-qm", "stop tracking").returncode == 0


def test_secrets_are_pointed_out_by_rule_and_line_and_never_by_value(project: Path) -> None:
    secret = RULES[0].example
    staged(project, "src/a b.py", f"one\ntwo\nkey = '{secret}'\n")
    staged(project, "prod.env", "X=1\n")

    done = commit(project, "-qm", "leak")

    assert done.returncode == 0
    assert "git nexus: warning: src/a b.py:3 looks like a secret (rule aws-access-key-id)\n" in done.stderr
    assert "git nexus: warning: prod.env usually holds secrets (rule *.env)\n" in done.stderr
    assert secret not in done.stderr


def test_lines_that_were_there_before_are_not_reported_again(project: Path) -> None:
    staged(project, "a.py", f"key = '{RULES[0].example}'\n")
    commit(project, "-qm", "leak")
    staged(project, "a.py", f"# moved\nkey = '{RULES[0].example}'\ntoken = None\n")

    assert commit(project, "-qm", "again").stderr == ""


def test_a_partial_commit_is_judged_by_what_it_commits(project: Path) -> None:
    staged(project, "fine.txt", "fine\n")
    staged(project, ".nexus/memory/a.md", "x")

    assert commit(project, "-qm", "only the fine one", "--", "fine.txt").returncode == 0


def test_a_hostile_file_name_cannot_draw_on_the_terminal(project: Path) -> None:
    staged(project, "x\x1b[2J.pem", "-")

    done = commit(project, "-qm", "escape")

    assert "\x1b" not in done.stderr
    assert "x\\x1b[2J.pem usually holds secrets" in done.stderr


def test_a_run_commits_only_through_the_gateway(project: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    run_git(project, "worktree", "add", "-q", "-b", "nexus/r1", str(place))
    staged(place, "a.txt", "x")

    refused = commit(place, "-m", "by the agent")

    assert refused.returncode == 1
    assert "this is the worktree of a run" in refused.stderr
    run_git(place, "switch", "-q", "-c", "escape")
    assert commit(place, "-m", "from another branch").returncode == 1


def test_the_users_own_checkout_of_a_runs_branch_can_commit(project: Path) -> None:
    run_git(project, "switch", "-q", "-c", "nexus/r2")
    staged(project, "a.txt", "x")

    assert commit(project, "-qm", "a fix by hand").returncode == 0


def test_a_new_worktree_gets_its_folder_filled(project: Path, tmp_path: Path) -> None:
    run_git(project, "worktree", "add", "-q", "-b", "w", str(tmp_path / "größer"))

    shown = {path.name for path in (tmp_path / "größer" / ".nexus").iterdir()}
    assert shown == {path.name for path in (project / ".nexus").iterdir()} > {".gitignore", "format.json"}
    assert run_git(tmp_path / "größer", "status", "--porcelain") == ""


def test_a_clone_whose_hooks_came_by_template_is_not_bothered(project: Path, tmp_path: Path) -> None:
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    (template / "post-checkout").write_text((project / ".git" / "hooks" / "post-checkout").read_text())
    (template / "post-checkout").chmod(0o755)

    run_git(tmp_path, "clone", "-q", f"--template={template.parent}", str(project), "clone")

    assert not (tmp_path / "clone" / ".nexus").exists()


@pytest.fixture
def approved(project: Path) -> Path:
    """A commit by an agent that carries our trailers."""
    staged(project, "agent.txt", "x")
    run_git(project, "commit", "-qm", f"agent: work\n\n{TRAILERS}", "--author=Agent <agent@example.com>")
    return project


def test_trailers_survive_a_new_message(approved: Path) -> None:
    assert commit(approved, "--amend", "-qm", "a better title").returncode == 0

    assert message(approved) == f"a better title\n\n{TRAILERS}"


def test_trailers_survive_an_editor_that_drops_them(approved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_EDITOR", "printf 'rewritten\\n' >")

    assert commit(approved, "--amend", "-q").returncode == 0

    assert message(approved) == f"rewritten\n\n{TRAILERS}"


def test_an_amend_that_changes_nothing_keeps_the_message_to_the_byte(approved: Path) -> None:
    before = run_git(approved, "cat-file", "commit", "HEAD").partition("\n\n")[2]

    commit(approved, "--amend", "--no-edit", "-q")

    assert run_git(approved, "cat-file", "commit", "HEAD").partition("\n\n")[2] == before


def test_the_next_commit_does_not_inherit_them(approved: Path) -> None:
    staged(approved, "mine.txt", "x")
    commit(approved, "-qm", "my own work")

    assert message(approved) == "my own work"


def test_a_picked_commit_keeps_its_own_trailers_and_takes_no_others(approved: Path) -> None:
    staged(approved, "second.txt", "x")
    theirs = TRAILERS.replace("r1", "r2")
    when = run_git(approved, "log", "-1", "--format=%aI").strip()
    author = ["--author=Agent <agent@example.com>", f"--date={when}"]  # the same agent in the same second
    run_git(approved, "commit", "-qm", f"agent: more\n\n{theirs}", *author)
    second = run_git(approved, "rev-parse", "HEAD").strip()
    run_git(approved, "reset", "-q", "--hard", "HEAD~1")

    run_git(approved, "cherry-pick", second)

    assert message(approved) == f"agent: more\n\n{theirs}"


def test_a_broken_store_lets_a_checkout_go_on_and_says_why(project: Path, tmp_path: Path) -> None:
    run_git(project, "update-ref", "refs/nexus/state", run_git(project, "rev-parse", "HEAD^{tree}").strip())

    argv = ["git", "worktree", "add", "-b", "w", str(tmp_path / "w")]
    done = subprocess.run(argv, cwd=project, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert "git nexus: post-checkout was skipped:" in done.stderr


def test_a_gate_without_its_program_stays_shut_and_says_why(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = project / ".git" / "nexus" / "hook"
    text = shim.read_text()
    start = text.index("nexus_program=")
    shim.write_text(text[:start] + "nexus_program=/nowhere/git-nexus" + text[text.index("\n", start) :])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    staged(project, "x.pem", "x")

    refused = commit(project, "-m", "x")

    assert refused.returncode == 1
    assert "the program git-nexus was not found" in refused.stderr


def test_an_ordinary_commit_says_nothing(project: Path) -> None:
    staged(project, "a.txt", "hello\n")

    done = commit(project, "-qm", "fine")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("kind", ["link", "repository"])
def test_the_folder_itself_is_not_committed_as_a_link_or_a_submodule(project: Path, tmp_path: Path, kind: str) -> None:
    (project / ".nexus").rename(tmp_path / "aside")
    if kind == "link":
        (project / ".nexus").symlink_to(tmp_path)
    else:
        (project / ".nexus").mkdir()
        run_git(project / ".nexus", "init", "-q")
        run_git(project / ".nexus", "commit", "-q", "--allow-empty", "-m", "x")
    subprocess.run(["git", "add", "-f", ".nexus"], cwd=project, capture_output=True, check=True)

    assert commit(project, "-m", "oops").returncode == 1


def test_a_secret_is_found_in_a_file_that_git_shows_as_binary(project: Path) -> None:
    staged(project, ".gitattributes", "*.json -diff\n")
    staged(project, "c.json", f'{{"k": "{RULES[0].example}"}}\n')

    assert "c.json:1 looks like a secret" in commit(project, "-qm", "leak").stderr


def test_a_merge_does_not_bring_state_onto_a_branch(project: Path) -> None:
    run_git(project, "switch", "-q", "-c", "old")
    staged(project, ".nexus/memory/a.md", "x")
    commit(project, "--no-verify", "-qm", "the old way")
    run_git(project, "switch", "-q", "main")
    run_git(project, "commit", "-q", "--allow-empty", "-m", "ahead")

    done = subprocess.run(["git", "merge", "-q", "old"], cwd=project, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "lives on refs/nexus/state" in done.stderr


def test_the_same_persons_next_commit_in_the_same_second_inherits_nothing(project: Path) -> None:
    date = "--date=2026-01-01T00:00:00Z"
    run_git(project, "commit", "-q", "--allow-empty", "-m", f"s\n\n{TRAILERS}", date)
    run_git(project, "commit", "-q", "--allow-empty", "-m", "next", date)

    assert message(project) == "next"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["-m", "new\n\nNexus-Run: r1"], f"new\n\n{TRAILERS}"),
        (["-m", "Fix", "-m", "#123 is closed"], f"Fix\n\n#123 is closed\n\n{TRAILERS}"),
        (["-m", "Fix\n\nCo-authored-by: A <a@b>\n and more"], f"Fix\n\nCo-authored-by: A <a@b>\n and more\n{TRAILERS}"),
    ],
)
def test_trailers_end_up_in_the_last_paragraph(approved: Path, argv: list[str], expected: str) -> None:
    assert commit(approved, "--amend", "-q", *argv).returncode == 0

    assert message(approved) == expected


def test_another_comment_character_is_heeded(approved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_EDITOR", "sed -i /^Nexus-/d")
    argv = ["git", "-c", "core.commentChar=;", "commit", "--amend", "-q", "-v"]

    assert subprocess.run(argv, cwd=approved, capture_output=True, check=False).returncode == 0
    assert message(approved) == f"agent: work\n\n{TRAILERS}"
