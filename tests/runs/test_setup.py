"""A run's worktree made ready: files copied as signed settings say, never a secret, and commands in the sandbox."""

import json
import os
from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.git.untracked import UntrackedFile
from gitnexus.runs.setup_rules import RunSettings, choose_files_to_copy, may_lie_below, parse_run_settings
from tests.conftest import Nexus, run_git, trust
from tests.terminal import at_work, read_until

IGNORE = "build/\n*.local\n.env\nlinks/\n"


def nobody(_path: str) -> str | None:
    return None


def test_what_is_ignored_and_named_is_copied_and_the_rest_is_told() -> None:
    found = [
        UntrackedFile("build/a/b.o", 3, ignored=True),
        UntrackedFile("build/.env", 3, ignored=True),
        UntrackedFile("build/in", 0, ignored=True, link="a/b.o"),
        UntrackedFile("build/out", 0, ignored=True, link="../../etc/passwd"),
        UntrackedFile("build/away", 0, ignored=True, link="/etc/passwd"),
        UntrackedFile("build/secret", 0, ignored=True, link="../.env"),
        UntrackedFile("build/new.txt", 3, ignored=False),
        UntrackedFile("other.local", 3, ignored=True),
    ]

    taken = choose_files_to_copy(
        ["build/**", "cache/**"], found, lambda path: "builtin.secret" if path.endswith(".env") else None
    )

    assert [one.path for one in taken.files] == ["build/a/b.o", "build/in"]
    assert taken.left_out == (
        ("build/.env", "builtin.secret hides it from agents"),
        ("build/out", "it is a link that leads out of the checkout"),
        ("build/away", "it is a link that leads out of the checkout"),
        ("build/secret", "it is a link, and builtin.secret hides its target from agents"),
        ("build/new.txt", "no .gitignore of the base names it"),
    )
    assert taken.idle == ("cache/**",)


def test_too_much_is_refused_before_anything_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitnexus.runs.setup_rules.MOST_FILES", 2)

    with pytest.raises(Invalid, match=r"runs\.copy names more than 2 files"):
        choose_files_to_copy(["a/*"], (UntrackedFile(f"a/{n}", 1, ignored=True) for n in range(3)), nobody)


@pytest.mark.parametrize(
    ("pattern", "folder", "expected"),
    [
        ("node_modules/**", "node_modules", True),
        ("node_modules/**", "node_modules/a/b", True),
        ("node_modules/**", "src", False),
        ("local.cfg", "src", False),
        ("*/data.bin", "src", True),
        ("*/data.bin", "src/deep", False),
        ("**/data.bin", "src/deep", True),
        ("a/b/*.o", "a", True),
        ("a/b/*.o", "a/c", False),
    ],
)
def test_only_folders_that_a_pattern_reaches_are_looked_into(pattern: str, folder: str, expected: bool) -> None:
    assert may_lie_below([pattern], folder) is expected


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"copy": ["**"]}, "names everything"),
        ({"copy": ["/etc/passwd"]}, "copy"),
        ({"copy": ["../x"]}, "copy"),
        ({"copy": "x"}, "copy should be a list"),
        ({"setup": ["make deps"]}, "setup"),
        ({"setup": [[]]}, "should be a command"),
        ({"setups": []}, "setups is not known"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(value: object, words: str) -> None:
    with pytest.raises(Invalid, match=r"settings\.json: runs") as refused:
        parse_run_settings(value)

    assert words in refused.value.message


def test_no_settings_are_nothing_to_do() -> None:
    assert parse_run_settings({}) == RunSettings()


@pytest.fixture
def ignoring(project: Path) -> Path:
    """A project with ignored files in its checkout, some of which no agent may read."""
    (project / ".gitignore").write_text(IGNORE)
    run_git(project, "add", ".")
    run_git(project, "commit", "-qm", "ignore")
    for name in ("build/a.o", "build/deep/run.sh", "build/server.key", ".env", "dev.local"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"{name}\n")
    (project / "build/deep/run.sh").chmod(0o755)
    return project


def settings(project: Path, runs: dict[str, object], *, signed: bool = True) -> None:
    (project / ".nexus" / "settings.json").write_text(json.dumps({"runs": runs}))
    if signed:
        trust(project)


def started(nexus: Nexus, *argv: str, status: int = 0) -> dict[str, object]:
    done = nexus("--json", "run", "--", *argv)
    assert done.returncode == status, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def events(nexus: Nexus, run: str) -> list[str]:
    lines = [json.loads(line) for line in nexus.ok("--json", "replay", run).splitlines()]
    told = [line["body"]["text"] for line in lines if line["kind"] == "agent.progress" and line["actor"] == "nexus"]
    return [text for text in told if text.startswith("set-up: ")]


def test_copied_files_are_there_for_the_agent_and_not_proposed_back(ignoring: Path, nexus: Nexus) -> None:
    settings(ignoring, {"copy": ["build/**", ".env", "*.local"]})

    told = started(nexus, "sh", "-c", "cat build/a.o && test -x build/deep/run.sh && ! cat build/server.key")

    run = told["run"]
    assert isinstance(run, dict)
    place = Path(run["worktree"])
    assert (run["status"], told["actions"]) == ("completed", [])
    copied = {str(one.relative_to(place)) for one in place.rglob("*") if one.is_file()}
    assert copied == {".git", ".gitignore", "readme.txt", "build/a.o", "build/deep/run.sh", "dev.local"}
    assert events(nexus, run["id"]) == [
        "set-up: copied 3 files",
        "set-up: left out .env: builtin.secret hides it from agents",
        "set-up: left out build/server.key: builtin.secret hides it from agents",
    ]
    assert nexus.ok("replay", run["id"], "--verify")


def test_nothing_is_copied_or_run_as_long_as_nobody_signed(ignoring: Path, nexus: Nexus) -> None:
    settings(ignoring, {"copy": ["build/**"], "setup": [["touch", "made"]]}, signed=False)

    told = started(nexus, "sh", "-c", "! test -e build && ! test -e made")

    assert told["actions"] == []
    run = told["run"]
    assert isinstance(run, dict)
    assert events(nexus, run["id"]) == [
        "set-up: ignored runs.copy and runs.setup, which nobody signed: git nexus policy trust"
    ]


def test_the_set_up_runs_before_the_agent_and_only_once(ignoring: Path, nexus: Nexus) -> None:
    settings(ignoring, {"setup": [["mkdir", "-p", "build"], ["sh", "-c", "echo once >> build/log"]]})

    told = started(nexus, "sh", "-c", "cp build/log readme.txt", status=21)

    run = told["run"]
    assert isinstance(run, dict)
    nexus.ok("approve", "--unseen", run["id"])
    assert nexus.ok("resume", run["id"]).startswith(f"{run['id']} completed")
    assert run_git(ignoring, "show", f"{run['branch']}:readme.txt") == "once\n"
    assert Path(run["worktree"], "build/log").read_text() == "once\n"


def test_an_agent_that_begins_again_finds_its_worktree_set_up_again(ignoring: Path, nexus: Nexus) -> None:
    settings(ignoring, {"copy": ["build/**"], "setup": [["touch", "build/made"]]})
    command = "cat build/a.o build/made && rm -r build; test -e ~/again || { touch ~/again && echo half; sleep 600; }"
    with at_work(ignoring, "run", "--", "sh", "-c", command) as (_, said):
        read_until(said, "half")
    run = run_git(ignoring, "branch", "--format=%(refname:lstrip=3)", "--list", "nexus/*").strip()

    done = nexus("resume", run)

    assert done.returncode == 0, done.stdout + done.stderr
    assert events(nexus, run).count("set-up: copied 2 files") == 2
    assert done.stderr.count("│ build/a.o") == 1


def test_a_set_up_that_fails_ends_the_run_with_the_reason_and_can_be_resumed(ignoring: Path, nexus: Nexus) -> None:
    settings(ignoring, {"setup": [["sh", "-c", "echo no such mirror >&2; exit 3"]]})
    done = nexus("run", "--", "touch", "worked")
    run = run_git(ignoring, "branch", "--format=%(refname:lstrip=3)", "--list", "nexus/*").strip()

    assert done.returncode == 1
    assert (
        "the set-up failed: sh -c echo no such mirror >&2; exit 3 exited with status 3: no such mirror" in done.stdout
    )
    assert done.stdout.endswith(f"Next: git nexus resume {run}\n")

    settings(ignoring, {"setup": [["true"]]})
    again = nexus("resume", run)

    assert again.returncode == 21, again.stdout + again.stderr
    nexus.ok("approve", "--unseen", run)
    assert nexus("replay", run, "--verify").returncode == 0
    assert "worked" in run_git(ignoring, "ls-tree", "--name-only", f"nexus/{run}")


def test_a_program_that_is_not_there_is_a_set_up_that_failed(ignoring: Path, nexus: Nexus) -> None:
    settings(ignoring, {"setup": [["no-such-program"]]})

    done = nexus("run", "--", "true")

    assert done.returncode == 1
    assert "the set-up failed: there is no program no-such-program" in done.stdout


def test_a_link_of_the_base_does_not_lead_a_copy_out_of_the_worktree(
    ignoring: Path, nexus: Nexus, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (ignoring / "links").symlink_to(outside)
    run_git(ignoring, "add", "-f", "links")
    run_git(ignoring, "commit", "-qm", "a link")
    run_git(ignoring, "checkout", "-q", "-b", "other")
    (ignoring / "links").unlink()
    run_git(ignoring, "commit", "-qam", "no link")
    (ignoring / "links").mkdir()
    (ignoring / "links" / "a.txt").write_text("a\n")
    settings(ignoring, {"copy": ["links/**"]})

    done = nexus("run", "--base", "main", "--", "true")

    assert list(outside.iterdir()) == []
    assert done.returncode in (0, 1)
    assert os.path.lexists(ignoring / "links" / "a.txt")
