"""git nexus agenda as a person types it."""

import json
from pathlib import Path

from gitnexus.base.canonical import json_document
from tests.conftest import Nexus, run_git


def test_an_agenda_from_its_beginning_to_a_phase_that_is_done(project: Path, nexus: Nexus) -> None:
    nexus.ok("agenda", "init", "--title", "Notes")
    nexus.ok("agenda", "phase", "add", "core_loop")
    nexus.ok("agenda", "phase", "start", "core_loop")
    file = project / "docs/phases/core_loop.md"
    file.write_text(file.read_text().replace("DELIVERABLES:\n", "DELIVERABLES:\n- [ ] write it {#write}\n"))

    assert nexus.ok("agenda", "show") == (
        "Notes  (AGENDA.md, 12 lines)\n"
        "→  phase.core_loop  active  0/1  Core loop\n"
        "Open in phase.core_loop:\n"
        "  docs/phases/core_loop.md:11  write it\n"
    )
    assert nexus("agenda", "phase", "done", "core_loop").returncode == 1
    nexus.ok("agenda", "tick", "write")
    nexus.ok("agenda", "phase", "done", "core_loop")
    assert nexus.ok("agenda", "phase", "done", "core_loop") == "Nothing to change.\n"
    assert nexus.ok("agenda", "check") == "It is consistent: 1 phase, 0 papers on the state.\n"
    assert nexus.ok("agenda", "show", "#PHASES") == "PHASES:\n- [x] [Core loop](docs/phases/core_loop.md)\n"
    assert run_git(project, "status", "--porcelain") == "?? AGENDA.md\n?? docs/\n"


def test_a_check_names_each_problem_and_leaves_with_6(project: Path, nexus: Nexus) -> None:
    (project / "AGENDA.md").write_text("# A\n\n- [x](gone.md)\n- [p](.nexus/plans/p.json)\n")
    (project / ".nexus/plans").mkdir()
    (project / ".nexus/plans/p.json").write_bytes(json_document({"id": "p"}))

    done = nexus("agenda", "check")
    answer = json.loads(nexus("agenda", "check", "--json").stdout)

    assert done.returncode == 6
    assert done.stdout == (
        "AGENDA.md:3: gone.md leads nowhere: there is no gone.md in the repository [broken-link]\n1 problem\n"
    )
    assert (answer["ok"], [one["code"] for one in answer["findings"]]) == (False, ["broken-link"])


def test_the_documents_of_a_commit_can_be_asked_for(project: Path, nexus: Nexus) -> None:
    (project / "AGENDA.md").write_text("# Then\n\nGOAL:\n- old\n")
    run_git(project, "add", "AGENDA.md")
    run_git(project, "commit", "-qm", "agenda")
    (project / "AGENDA.md").write_text("# Now\n")

    answer = json.loads(nexus.ok("agenda", "show", "AGENDA.md#GOAL", "--at", "HEAD", "--json"))["slice"]

    assert answer == {"ref": "AGENDA.md#GOAL", "text": "GOAL:\n- old\n", "path": "AGENDA.md", "firstLine": 3,
                      "lastLine": 4, "blob": run_git(project, "rev-parse", "HEAD:AGENDA.md").strip()}  # fmt: skip


def test_a_link_out_of_the_repository_is_not_followed(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    (project / "AGENDA.md").symlink_to(tmp_path / "secret.md")
    (project / "docs").symlink_to(tmp_path)
    (tmp_path / "phases").mkdir()
    (tmp_path / "phases/x.md").write_text("# X\n")

    assert "Secret" not in nexus.ok("agenda", "show")
    assert nexus("agenda", "init").returncode == 23
    assert nexus("agenda", "show", "docs/phases/x.md").returncode == 4
    assert (tmp_path / "secret.md").read_text() == "# Secret\n"


def test_a_file_with_marks_of_a_merge_is_left_as_it_is(project: Path, nexus: Nexus) -> None:
    nexus.ok("agenda", "init")
    nexus.ok("agenda", "phase", "add", "a")
    file = project / "docs/phases/a.md"
    file.write_text("<<<<<<< ours\nSTATUS: planned\n=======\nSTATUS: done\n>>>>>>> theirs\n")
    before = file.read_bytes()

    done = nexus("agenda", "phase", "start", "a")

    assert (done.returncode, file.read_bytes()) == (23, before)
    assert "docs/phases/a.md:1: it holds the marks of a merge that is not finished" in done.stderr


def test_a_run_can_be_written_down_in_its_phase(project: Path, nexus: Nexus) -> None:
    nexus.ok("agenda", "init")
    nexus.ok("agenda", "phase", "add", "a")
    nexus.ok("agenda", "phase", "start", "a")
    run = json.loads(nexus("run", "--json", "--", "true").stdout)["run"]["id"]
    file = project / "docs/phases/a.md"
    before = file.read_text()

    shown = json.loads(nexus.ok("agenda", "patch", run, "--json"))
    assert (file.read_text(), shown["changed"]) == (before, [])
    nexus.ok("agenda", "patch", run, "--done", "--write")

    (action,) = shown["actions"]
    assert (action["kind"], action["summary"]) == ("agenda_patch", f"link the run {run}")
    assert f"+  - run: {run}\n" in action["details"]["diff"]
    assert file.read_text() == before.replace("STATUS: active", f"STATUS: done\nLINKS:\n  - run: {run}")
    assert nexus.ok("agenda", "check") == "It is consistent: 1 phase, 0 papers on the state.\n"
