"""Secrets that an older version stored, or a push by hand published: `doctor` names them, and they can be taken out."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.attacks.machines import Machine
from tests.attacks.test_withheld_proposals import SECRET, holders
from tests.conftest import Nexus, run_git

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "undo-and-recover.md"


def store(place: Path, ref: str, path: str, text: str, message: str = "older") -> None:
    """Add a file to a ref with plain git, as a version left it that did not redact."""
    head = f"commit {ref}\ncommitter T <t@example.org> 1700000000 +0000\ndata <<WORDS\n{message}\nWORDS\n"
    file = f"from {ref}^0\nM 100644 inline {path}\ndata <<TEXT\n{text}TEXT\n"
    run_git(place, "fast-import", "--quiet", stdin=f"{head}{file}\ndone\n")


def findings(nexus: Nexus | Machine, *options: str) -> list[dict[str, str]]:
    told: list[dict[str, str]] = json.loads(nexus("doctor", "--json", *options).stdout)["findings"]
    return [one for one in told if one["check"] == "secrets"]


def test_doctor_names_the_secrets_that_refs_hold_and_what_to_do(nexus: Nexus, project: Path) -> None:
    nexus.ok("init")
    store(project, "refs/nexus/state", "memory/notes/old.md", f"note {SECRET}\n")
    store(project, "refs/nexus/state", "memory/notes/old.md", "note\n", f"forget {SECRET}")

    found = findings(nexus)

    assert [one["state"] for one in found] == ["warning"]
    assert found[0]["message"].startswith("refs/nexus/state holds what looks like a secret (rule ")
    assert "the message of a commit and 1 more" in found[0]["message"]
    assert found[0]["hint"].startswith("rotate it first; ")
    assert SECRET not in nexus("doctor").stdout


def test_doctor_finds_nothing_in_a_project_without_secrets(ada: Machine) -> None:
    (ada.place / "code.txt").write_text(f"{SECRET}\n")
    run_git(ada.place, "add", "-A")
    run_git(ada.place, "commit", "-qm", "code is not looked at")
    run = ada.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"]
    ada.ok("approve", "--unseen", run)

    assert [one["message"][-80:] for one in findings(ada)] == []
    (all_,) = findings(ada, "--secrets")
    assert (all_["state"], re.sub("[0-9]+", "N", all_["message"])) == ("ok", "no secret in N objects of refs/nexus")


def test_a_plain_doctor_stops_early_and_says_how_all_is_looked_at(nexus: Nexus, project: Path) -> None:
    nexus.ok("init")
    store(project, "refs/nexus/state", "memory/notes/old.md", f"note {SECRET}\n")
    files = "".join(f"M 100644 inline memory/notes/{at}.md\ndata 5\n{at:04}\n\n" for at in range(800))
    head = "commit refs/nexus/state\ncommitter T <t@example.org> 1700000000 +0000\ndata 5\nmore\n"
    gone = "from refs/nexus/state^0\nD memory/notes/old.md\n"
    run_git(project, "fast-import", "--quiet", stdin=f"{head}{gone}{files}\ndone\n")

    (early,) = findings(nexus)
    (late,) = findings(nexus, "--secrets")

    assert (early["state"], early["hint"]) == ("ok", "git nexus doctor --secrets looks at all")
    assert late["state"] == "warning"


def commands_of(title: str) -> list[str]:
    """Return the blocks of commands below a title of the page, without their prose."""
    part = PAGE.read_text().split(f"### {title}\n")[1].split("\n#")[0]
    return re.findall(r"```sh\n(.*?)```", part, re.S)


def shell(machine: Machine, text: str, **names: str) -> None:
    for name, value in names.items():
        text = re.sub(rf"\b{name}\b", value, text)
    with machine.here():
        subprocess.run(["sh", "-eux", "-c", text], cwd=machine.place, check=True, capture_output=True)


@pytest.mark.slow
def test_the_page_takes_a_secret_out_of_the_state_here_there_and_in_other_clones(
    ada: Machine, mallory: Machine, hub: Path
) -> None:
    store(ada.place, "refs/nexus/state", "memory/notes/old.md", f"note {SECRET}\n")
    ada.ok("status")
    (ada.place / ".nexus" / "memory" / "notes" / "old.md").write_text("note\n")
    ada.sync()
    mallory.sync()
    assert holders(hub) != [] != holders(mallory.place)
    here, others = commands_of("In the state")

    shell(ada, here)
    shell(mallory, others)

    assert holders(hub) == holders(ada.place) == holders(mallory.place) == []
    assert ada.sync().said == mallory.sync().said == []
    assert "memory/notes/old.md" in run_git(mallory.place, "ls-tree", "-r", "--name-only", "refs/nexus/state")
    assert findings(ada) == findings(mallory) == []


@pytest.mark.slow
def test_the_page_takes_a_secret_out_of_the_log_of_a_run_and_of_an_archive(
    ada: Machine, mallory: Machine, hub: Path
) -> None:
    other = ada.begin_waiting_run("echo two > two.txt")
    run = ada.begin_waiting_run("echo one > one.txt")
    store(ada.place, f"refs/nexus/runs/{run}", "artifacts/old", f"{SECRET}\n")
    run_git(ada.place, "push", "-q", "origin", f"refs/nexus/runs/{run}")
    mallory.sync()
    (log,) = commands_of("In the log of a run")
    assert any(run in one["message"] and "git push REMOTE --delete" in one["hint"] for one in findings(ada))

    shell(ada, log, REMOTE="origin", RUN=run)
    shell(mallory, log.replace("git push", "true"), REMOTE="origin", RUN=run)

    assert holders(hub) == holders(ada.place) == holders(mallory.place) == []
    ada.sync()
    mallory.sync()
    assert holders(hub) == []
    ada.ok("cancel", other)
    ada.ok("clean", other)
    month = run_git(ada.place, "for-each-ref", "--format=%(refname)", "refs/nexus/archive").strip()
    store(ada.place, month, f"{run}/old", f"{SECRET}\n")
    run_git(ada.place, "push", "-q", "origin", month)
    (archive,) = commands_of("In an archive")
    shell(ada, archive, REMOTE="origin", RUN=run, MONTH=month.rpartition("/")[2])
    assert holders(hub) == holders(ada.place) == []
    assert other in run_git(ada.place, "ls-tree", "--name-only", month)
    assert ada.sync().said == []
    ada.ok("replay", other)
