"""status, log, doctor, hooks, uninstall: what people read all day."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from gitnexus.state import STATE_REF, State
from tests.conftest import Nexus, run_git


def test_status_is_one_screen(nexus: Nexus) -> None:
    nexus.ok("init", "--name", "demo")

    shown = re.sub(r"last (now|\d+ seconds? ago)", "last AGE", nexus.ok("status"))
    shown = re.sub(r"^sandbox  L[0-3]$", "sandbox  LEVEL", shown, flags=re.MULTILINE)

    assert shown == (
        f"project  demo at {nexus.place}\n"
        "state    1 change, last AGE: init: begin\n"
        "cycle    nothing open\n"
        "files    nothing stored yet\n"
        "hooks    pre-commit, pre-merge-commit, prepare-commit-msg, commit-msg, post-checkout\n"
        "sandbox  LEVEL\n"
        "next     nothing waits for you\n"
    )


def test_status_tells_what_waits_for_a_person(project: Path, nexus: Nexus) -> None:
    (project / ".nexus" / "rules").mkdir()
    (project / ".nexus" / "rules" / "r.json").write_text("{")
    (project / ".nexus" / "rules" / "x.md.mine-abc1234").write_text("mine")

    done = nexus("status")

    assert "warning  .nexus/rules/r.json: not valid JSON" in done.stdout
    assert "warning  .nexus/rules/x.md.mine-abc1234 waits to be merged" in done.stdout
    assert "next     repair the files that are left as they are" in done.stdout
    assert ".nexus/rules/r.json is left as it is" in done.stderr


def test_status_tells_the_cycle_that_is_open(project: Path, nexus: Nexus) -> None:
    nexus.ok("plan", "start", "Storage", "Which?", "How?")
    nexus.ok("plan", "decide", "1", "this")
    nexus.ok("tool", "task_add", '{"title": "t", "context": "c"}')

    assert "cycle    plan Storage, 1 of 2 decided; 0 of 1 task completed\n" in nexus.ok("status")
    assert json.loads(nexus.ok("status", "--json"))["cycle"]["tasks"]["ready"] == [1]


def test_status_in_json_has_the_same_facts(project: Path, nexus: Nexus) -> None:
    answer = json.loads(nexus.ok("status", "--json"))

    assert answer["state"]["ref"] == STATE_REF
    assert answer["state"]["commit"] == run_git(project, "rev-parse", STATE_REF).strip()
    assert answer["hooks"]["missing"] == []
    assert answer["files"]["memory"] == 0


def test_the_log_reads_as_a_diary(project: Path, nexus: Nexus) -> None:
    state = State.open(project)
    for number in range(3):
        state.write({f"memory/n{number}.md": b"x"}, why=f"memory: add n{number}")

    shown = nexus.ok("log", "-n", "2").splitlines()

    assert [line[-14:] for line in shown[:2]] == ["memory: add n2", "memory: add n1"]
    assert shown[2] == "… 2 more: git nexus log -n 4"


@pytest.mark.parametrize(
    "path", ["memory/n1.md", ".nexus/memory/n1.md", "./.nexus/memory/n1.md", "{}/.nexus/memory/n1.md"]
)
def test_the_log_of_one_file_is_found_however_it_is_named(project: Path, nexus: Nexus, path: str) -> None:
    state = State.open(project)
    for number in range(3):
        state.write({f"memory/n{number}.md": b"x"}, why=f"memory: add n{number}")

    answer = json.loads(nexus.ok("log", path.format(project), "--json"))

    assert [(entry["why"], entry["files"]) for entry in answer["entries"]] == [("memory: add n1", ["memory/n1.md"])]


def test_the_log_of_what_never_was_says_so(project: Path, nexus: Nexus) -> None:
    assert nexus("log", "memory/none.md").returncode == 4
    assert nexus("log", "../../etc").returncode == 6
    assert nexus("log", ":(top)memory").returncode == 6


def test_a_hostile_reason_cannot_draw_on_the_terminal(project: Path, nexus: Nexus) -> None:
    State.open(project).write({"memory/x.md": b"x"}, why="evil \x1b[2J\u202e reason")

    shown = nexus.ok("log") + nexus.ok("status")

    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_healthy_project_passes_the_doctor(nexus: Nexus) -> None:
    nexus.ok("init", "--name", "p")

    lines = nexus.ok("doctor").splitlines()
    # Which sandbox there is depends on the machine.
    states = {line.split()[0] for line in lines if line.split()[1] != "sandbox"}

    assert states == {"ok"}


def test_the_doctor_tells_at_which_level_commands_run_and_what_the_policy_asks_for_in_vain(
    project: Path, nexus: Nexus, sealed: Path
) -> None:
    shown = nexus.ok("doctor")
    (sealed / "nexus" / "policy.md").write_text("---\nversion: 1\nsandbox: {level: L0, minimum: L1}\n---\n")
    refused = nexus("doctor")

    assert re.search(r"^(ok|warning) +sandbox +commands run at L[0-3]: ", shown, re.MULTILINE)
    assert refused.returncode == 1
    assert "the sandbox is set to L0, and the policy requires at least L1" in refused.stdout


def test_the_doctor_mends_what_somebody_broke(project: Path, nexus: Nexus) -> None:
    (project / ".git" / "info" / "exclude").write_text("")
    (project / ".git" / "hooks" / "pre-commit").unlink()
    (project / ".git" / "nexus" / "hook").unlink()

    assert nexus("doctor").returncode == 1
    shown = nexus.ok("doctor", "--fix")

    assert ".nexus/ is ignored by git again" in shown
    assert "installed the hooks again" in shown
    assert nexus("doctor").returncode == 0


def test_the_doctor_lists_what_only_a_person_can_mend(project: Path, nexus: Nexus) -> None:
    (project / ".nexus" / "history.json").write_text("{")

    done = nexus("doctor", "--fix", "--json")

    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert found["healthy"] is False
    assert [f["hint"] for f in found["findings"] if f["state"] == "problem"] == ["repair it by hand"]


def test_the_doctor_outside_a_project_says_what_to_do(nexus: Nexus) -> None:
    done = nexus("doctor")

    assert done.returncode == 1
    assert "no git nexus project here (git nexus init)" in done.stdout
    assert "registered" not in done.stdout


def tree(place: Path) -> dict[str, bytes]:
    """Every file of the repository but objects and logs."""
    skipped = (".git/objects", ".git/logs", ".git/nexus/trash", ".git/index")
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and not str(path.relative_to(place)).startswith(skipped)
    }


def test_uninstall_leaves_the_repository_as_it_was(nexus: Nexus) -> None:
    (nexus.place / ".git" / "info" / "exclude").write_bytes(b"# mine, no newline at the end")
    before = tree(nexus.place)
    nexus.ok("init", "--name", "p")
    shown = nexus.ok("uninstall", "--purge", "--yes")

    assert tree(nexus.place) == before
    assert "unregistered p" in shown
    assert "deleted refs/nexus/state (it was at" in shown


def test_uninstall_keeps_the_state_and_init_brings_everything_back(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    run_git(project, "worktree", "add", "-q", "-b", "w", str(linked))
    for place, text in ((project, "edited here\n"), (linked, "edited there\n")):
        (place / ".nexus" / "memory").mkdir(exist_ok=True)
        (place / ".nexus" / "memory" / f"{place.name}.md".replace(" ", "-")).write_text(text)
    (project / ".nexus" / "state").mkdir()
    (project / ".nexus" / "state" / "plan.json").write_text("{}")

    answer = json.loads(nexus.ok("uninstall", "--json"))

    assert not (project / ".nexus").exists()
    assert not (linked / ".nexus").exists()
    assert any((Path(parked) / "state" / "plan.json").exists() for parked in answer["parked"])
    nexus.ok("init")
    assert sorted(p.read_text() for p in (project / ".nexus" / "memory").iterdir()) == [
        "edited here\n",
        "edited there\n",
    ]


def test_purge_asks_first(project: Path, nexus: Nexus) -> None:
    assert nexus("uninstall", "--purge").returncode == 2
    assert (project / ".nexus").exists()


def test_uninstall_where_nothing_is_installed(nexus: Nexus) -> None:
    assert nexus.ok("uninstall") == "git nexus was not installed here.\n"


def test_after_uninstall_commits_are_free_again(project: Path, nexus: Nexus) -> None:
    nexus.ok("uninstall")
    (project / "x.pem").write_text("x")
    run_git(project, "add", "x.pem")

    done = subprocess.run(["git", "commit", "-qm", "x"], cwd=project, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_hooks_status_says_how_each_is_installed(project: Path, nexus: Nexus) -> None:
    answer = json.loads(nexus.ok("hooks", "status", "--json"))

    assert {hook["how"] for hook in answer["hooks"]} <= {"file", "config"}
    nexus.ok("hooks", "uninstall")
    assert "next: git nexus hooks install" in nexus.ok("hooks", "status")
    assert nexus.ok("hooks", "uninstall") == "None of our hooks were installed.\n"


def test_reading_goes_on_when_edits_cannot_be_taken_in(project: Path, nexus: Nexus) -> None:
    (project / ".nexus" / "memory").mkdir()
    (project / ".nexus" / "memory" / "a.md").write_text("new\n")
    with (project / ".git" / f"{STATE_REF}.lock").open("w"):  # a lock that nobody held would be broken
        done = nexus("status")

    assert done.returncode == 0
    assert "your edits in .nexus/ are not committed yet" in done.stderr
