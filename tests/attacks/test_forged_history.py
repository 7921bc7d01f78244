"""A pusher writes events in the name of others: nothing of it counts, and where it is shown it is shown as claimed."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.events.checkpoint import load_checkpoint, write_checkpoint
from gitnexus.events.log import EventDraft, RunLog
from gitnexus.git import Objects
from gitnexus.policy.keys import key_id, normalize_public_key
from gitnexus.projects.open_state import open_state
from gitnexus.runs import list as runs_list
from gitnexus.state import State
from tests.attacks.machines import Machine
from tests.conftest import run_git

CANCELLED = ("run.cancelled", "user", {"by": "Ada", "why": "never mind"})
DENIED = ("permission.denied", "user", {"action": "a1", "by": "Ada", "why": "no"})
TESTED = [
    ("action.proposed", "agent", {"action": "a9", "actionKind": "command", "summary": "pytest",
                                  "digest": "sha256:" + "0" * 64}),
    ("tool.executed", "gate", {"action": "a9", "tool": "cmd.run", "ok": True, "tests": "pytest", "result": "5 passed"}),
]  # fmt: skip


def forge(hub: Path, run: str, *events: Any, strip: bool = False) -> None:
    """Append events to the log of a run on the server, as who can push does."""
    state = State.open(hub)
    kept = load_checkpoint(state.objects, run)
    assert kept is not None
    folder = hub.parent / "forged" / run
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(kept.raw())
    log = RunLog(folder)
    for kind, actor, body in events:
        log.append(kind, actor, body)
    write_checkpoint(log, json.loads(kept.workflow()), state.objects, state.author)
    if strip:
        _without_signatures(state.objects, run, hub)
    state.close()


def _without_signatures(objects: Objects, run: str, hub: Path) -> None:
    rows = run_git(hub, "ls-tree", f"refs/nexus/runs/{run}").splitlines()
    tree = run_git(hub, "mktree", stdin="".join(f"{row}\n" for row in rows if not row.endswith("signatures.json")))
    commit = run_git(hub, "commit-tree", "-p", f"refs/nexus/runs/{run}", "-m", "forged", tree.strip())
    run_git(hub, "update-ref", f"refs/nexus/runs/{run}", commit.strip())


@pytest.fixture
def waiting(ada: Machine) -> str:
    """A run of Ada's that waits for an answer, and is on the server."""

    def run() -> str:
        told = ada.json("run", "--", "sh", "-c", "echo one > one.txt")
        ada.sync()
        return str(told["run"]["id"])

    return ada.step("waiting run", run)


def status(machine: Machine, run: str) -> str:
    return str({row["id"]: row["status"] for row in machine.json("runs", "--all")["runs"]}[run])


@pytest.mark.parametrize(
    ("events", "strip"),
    [
        pytest.param([CANCELLED], False, id="cancelled-appended"),
        pytest.param([CANCELLED], True, id="cancelled-stripped", marks=pytest.mark.slow),
        pytest.param([DENIED], False, id="denied-appended", marks=pytest.mark.slow),
        pytest.param([DENIED], True, id="denied-stripped"),
        pytest.param(TESTED, False, id="tested-appended"),
        pytest.param(TESTED, True, id="tested-stripped", marks=pytest.mark.slow),
    ],
)
def test_forged_events_do_not_change_a_run_of_ours(
    ada: Machine, hub: Path, waiting: str, events: list[Any], strip: bool
) -> None:
    forge(hub, waiting, *events, strip=strip)

    done = ada.sync()

    assert any("only claimed" in line for line in done.said), done.said
    assert status(ada, waiting) == "waiting"
    assert [one["status"] for one in ada.json("review", waiting)["runs"][0]["actions"]] == ["waiting"]
    assert "never mind" not in ada.ok("replay", waiting) and "pytest" not in ada.ok("replay", waiting)
    assert ada("approve", "--unseen", waiting).returncode == 0


def test_a_clone_that_never_saw_the_run_takes_in_what_is_signed_and_no_more(
    ada: Machine, hub: Path, waiting: str
) -> None:
    forge(hub, waiting, CANCELLED)
    carol = Machine(hub, "carol")
    carol.consent()

    done = carol.sync()

    assert any("only claimed" in line for line in done.said), done.said
    assert status(carol, waiting) == "waiting"
    proof = carol("replay", waiting, "--verify")
    assert "signed by the machine of Ada, for which Ada vouches" in proof.stderr
    assert "claimed" not in proof.stdout.partition("\n")[2]


def test_a_log_that_nobody_known_signed_is_shown_as_claimed(ada: Machine, mallory: Machine) -> None:
    run = mallory.begin_waiting_run("echo evil > evil.txt")
    mallory.sync()
    ada.sync()

    proof = ada("replay", run, "--verify")
    row = next(row for row in ada.json("runs")["runs"] if row["id"] == run)

    assert proof.returncode == 0
    assert all(line.endswith("[claimed]") for line in proof.stdout.splitlines()[1:])
    assert ada("replay", run, "--verify", "--require-signed").returncode == 22
    assert "all valid" not in proof.stderr and "events are only claimed" in proof.stderr
    assert "claimed, in the name of Mallory; no machine known here signed them" in proof.stderr
    assert (row["foreign"], row["claimed"]) == (True, True)
    assert all(json.loads(line)["claimed"] for line in ada.ok("replay", run, "--json").splitlines())


@pytest.fixture
def carol(hub: Path, ada: Machine) -> Machine:
    """A colleague who trusts Ada."""
    machine = Machine(hub, "carol", ada.prepared)
    machine.step("consent", machine.consent)
    return machine


def denied_as_ada(mallory: Machine, run: str) -> None:
    """Let Mallory say no in Ada's name, and push it."""
    run_git(mallory.place, "config", "user.name", "Ada")
    mallory.ok("deny", run, "--reason", "no good")
    mallory.sync()


@pytest.mark.slow
def test_a_decision_that_nobody_known_signed_is_told_as_said_to_be_so(mallory: Machine, carol: Machine) -> None:
    run = mallory.begin_waiting_run("echo evil > evil.txt")
    denied_as_ada(mallory, run)
    carol.sync()

    shown = carol("review", run).stdout
    told = carol.json("review", run)["runs"][0]
    (row,) = carol.json("runs", "--all")["runs"]

    assert f"{run} claimed to be failed, and waiting" in shown
    assert (
        " ".join(line_with("a1  patch", shown).split()) == "a1 patch claimed to be denied by Ada, not signed: no good"
    )
    action = told["actions"][0]
    assert (told["run"]["status"], told["run"]["statusClaimed"]) == ("failed", True)
    assert (action["status"], action["claimed"]) == ("waiting", True)
    assert action["said"] == {"status": "denied", "by": "Ada", "why": "no good"}
    assert (row["status"], row["statusClaimed"], row["waits"]) == ("failed", True, "1 waiting")
    assert "claimed to be failed" in carol.ok("runs", "--all")
    assert line_with("Ada denied", carol.ok("replay", run)).endswith("[claimed]")
    total = carol.json("metrics")["total"]
    assert (total["approvals"]["denied"], total["failed"], total["claimed"]) == (0, 0, 2)
    assert "decisions only claimed" in carol.ok("metrics")


@pytest.mark.slow
def test_a_no_in_the_name_of_another_does_not_take_the_action_from_those_who_may_approve_it(
    mallory: Machine, waiting: str, carol: Machine
) -> None:
    mallory.sync()
    denied_as_ada(mallory, waiting)
    carol.sync()

    (row,) = carol.json("runs", "--all")["runs"]
    (asked,) = carol.json("review")["runs"]

    assert (row["status"], row["statusClaimed"]) == ("failed", True)  # so says the record, which anybody writes
    assert [one["status"] for one in asked["actions"]] == ["waiting"]
    assert (row["waits"], carol.json("runs")["runs"][0]["waits"]) == ("1 waiting", "1 waiting")


@pytest.mark.slow
def test_decisions_of_a_vouched_machine_are_facts(ada: Machine, waiting: str, carol: Machine) -> None:
    ada.ok("cancel", waiting, "--reason", "never mind")
    ada.sync()
    carol.sync()

    (row,) = carol.json("runs", "--all")["runs"]

    assert (row["status"], row["statusClaimed"]) == ("cancelled", False)
    assert "claimed to be" not in carol("review", waiting).stdout
    assert carol.json("review")["runs"] == []
    assert carol.json("metrics")["total"]["claimed"] == 0


def line_with(words: str, text: str) -> str:
    return next(line for line in text.splitlines() if words in line)


@pytest.mark.slow
def test_what_an_approver_says_on_another_machine_counts_and_is_told_as_theirs(
    ada: Machine, hub: Path, waiting: str
) -> None:
    carol = _approver(ada, hub, "carol")
    carol.sync()
    carol.ok("deny", waiting, "--reason", "not like this")
    carol.ok("checkpoint", waiting)
    carol.sync()

    ada.sync()

    assert [one["status"] for one in ada.json("review", waiting)["runs"][0]["actions"]] == ["denied"]
    proof = ada("replay", waiting, "--verify").stderr
    assert "signed by the machine of Carol, for which Carol vouches" in proof
    assert "all valid" in proof


def test_an_approver_does_not_speak_for_another_one(ada: Machine, hub: Path, waiting: str) -> None:
    carol = _approver(ada, hub, "carol")
    carol.sync()
    with carol.run(waiting) as desk:
        desk.log.append(*DENIED)
        desk.write_checkpoint()
    carol.sync()

    ada.sync()

    told = ada.ok("replay", waiting)
    assert next(line for line in told.splitlines() if "denied a1" in line).endswith("[claimed]")
    assert "1 events are only claimed" in ada("replay", waiting, "--verify").stderr


def test_who_pushes_a_no_of_their_own_does_not_keep_the_log_from_the_others(
    ada: Machine, mallory: Machine, hub: Path, carol: Machine
) -> None:
    run = str(ada.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"])
    ada.sync()
    mallory.sync()
    mallory.ok("deny", run, "--reason", "no good")
    mallory.sync()

    ada.sync()
    ada.ok("approve", "--unseen", run)
    said = ada.sync().said
    ada.ok("land", run)
    run_git(ada.place, "push", "-q", "origin", "HEAD:main")
    ada.sync()
    run_git(carol.place, "pull", "-q", "--ff-only", "origin", "main")

    assert any("is only claimed: ours takes its place" in line for line in said), said
    mallory.sync()  # puts theirs upon ours, as a log that contradicts it
    ada.sync()
    mallory.sync()
    carol.sync()
    assert carol.json("runs")["runs"] == []
    assert "events are only claimed" not in carol("replay", run, "--verify").stderr
    assert "no good" not in carol.ok("replay", run)


@pytest.mark.slow
def test_what_is_no_log_at_all_does_not_keep_the_log_from_the_others(
    ada: Machine, hub: Path, waiting: str, carol: Machine
) -> None:
    tree = run_git(hub, "rev-parse", "main^{tree}").strip()
    forged = run_git(hub, "commit-tree", "-m", "nothing", tree).strip()
    run_git(hub, "update-ref", f"refs/nexus/runs/{waiting}", forged)

    ada.ok("approve", "--unseen", waiting)
    ada.sync()
    carol.sync()

    assert [row["status"] for row in carol.json("runs")["runs"]] == ["completed"]
    assert "events are only claimed" not in carol("replay", waiting, "--verify").stderr
    assert "committed a1" in carol.ok("replay", waiting)


def test_a_log_beside_which_claims_were_put_is_found_by_who_comes_later(
    ada: Machine, hub: Path, waiting: str, carol: Machine
) -> None:
    ref = f"refs/nexus/runs/{waiting}"
    signed = run_git(hub, "rev-parse", ref).strip()
    forge(hub, waiting, CANCELLED)
    main = run_git(hub, "rev-parse", "main").strip()
    forged = run_git(hub, "commit-tree", "-m", "both", "-p", main, "-p", signed, f"{ref}^{{tree}}").strip()
    run_git(hub, "update-ref", ref, forged)

    carol.sync()

    assert run_git(carol.place, "rev-parse", ref).strip() == signed
    assert "[claimed]" not in carol.ok("replay", waiting, "--verify", "--require-signed")


def test_a_forged_record_does_not_hide_a_run_that_waits(ada: Machine, hub: Path, waiting: str) -> None:
    server = State.open(hub)
    path = f"runs/{waiting}.json"
    record = json.loads(server.read(path) or b"")
    raw = json.dumps({**record, "status": "cancelled", "ended": "2026-11-17T12:00:00Z"}).encode()
    server.write({path: raw}, why="mischief")
    server.close()

    ada.sync()

    assert status(ada, waiting) == "waiting"
    assert [row["run"]["id"] for row in ada.json("review")["runs"]] == [waiting]
    assert json.loads(run_git(ada.place, "show", f"refs/nexus/state:{path}"))["status"] == "waiting"


def forge_record(hub: Path, run: str, **fields: str) -> None:
    """Write another record of a run on the server, as who can push does."""
    server = State.open(hub)
    path = f"runs/{run}.json"
    record = json.loads(server.read(path) or b"")
    raw = json.dumps({**record, "ended": "2026-11-17T12:00:00Z", **fields}).encode()
    server.write({path: raw}, why="mischief")
    server.close()


@pytest.mark.parametrize(
    "said",
    [
        "landed",
        pytest.param("cancelled", marks=pytest.mark.slow),
        pytest.param("completed", marks=pytest.mark.slow),
    ],
)
def test_a_forged_record_does_not_hide_what_waits_from_a_colleague(
    hub: Path, waiting: str, carol: Machine, said: str
) -> None:
    forge_record(hub, waiting, status=said, landed=run_git(hub, "rev-parse", "main").strip())
    carol.sync()

    (row,) = carol.json("runs")["runs"]
    (asked,) = carol.json("review")["runs"]
    standing = carol.json("status")

    assert (row["status"], row["statusClaimed"], row["waits"]) == (said, True, "1 waiting")
    assert f"claimed to be {said}" in carol.ok("runs")
    assert [one["status"] for one in asked["actions"]] == ["waiting"]
    assert standing["runs"] == {"waiting": 1}
    assert any("git nexus review" in step for step in standing["next"])
    assert "no known machine signed" in carol.json("clean")["runs"][0]["skipped"]
    assert run_git(carol.place, "for-each-ref", "refs/nexus/archive") == ""


def test_a_forged_record_that_a_run_goes_on_does_not_hide_what_waits_in_it(
    hub: Path, waiting: str, carol: Machine
) -> None:
    forge_record(hub, waiting, status="running", ended="")
    carol.sync()

    assert [one["status"] for one in carol.json("review")["runs"][0]["actions"]] == ["waiting"]


@pytest.mark.slow
def test_a_run_is_landed_once_its_work_is_on_a_branch_of_ours(ada: Machine, hub: Path, carol: Machine) -> None:
    run = str(ada.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"])
    ada.ok("approve", "--unseen", run)
    ada.sync()
    forge_record(hub, run, status="landed", landed=run_git(hub, "rev-parse", "main").strip())
    carol.sync()
    (before,) = carol.json("runs")["runs"]

    ada.ok("land", run)
    run_git(ada.place, "push", "-q", "origin", "HEAD:main")
    run_git(carol.place, "pull", "-q", "--ff-only", "origin", "main")
    forge_record(hub, run, status="landed", landed=run_git(hub, "rev-parse", "main").strip())
    carol.sync()

    assert (before["status"], before["statusClaimed"]) == ("landed", True)
    assert carol.json("runs")["runs"] == []
    assert carol.json("status")["claimedRuns"] == {}


def test_a_forged_end_does_not_keep_approved_work_from_landing(ada: Machine, hub: Path, carol: Machine) -> None:
    run = str(ada.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"])
    ada.ok("approve", "--unseen", run)
    ada.sync()
    forge_record(hub, run, status="cancelled")
    carol.sync()

    (row,) = carol.json("runs")["runs"]

    assert (row["status"], row["statusClaimed"]) == ("cancelled", True)
    carol.ok("land", run)
    assert (carol.place / "one.txt").read_text() == "one\n"


def test_a_no_that_nobody_known_signed_stops_nothing(ada: Machine, mallory: Machine) -> None:
    run = mallory.begin_waiting_run("echo good > good.txt")
    denied_as_ada(mallory, run)
    ada.sync()

    assert [one["status"] for one in ada.json("review")["runs"][0]["actions"]] == ["waiting"]
    ada.ok("approve", "--unseen", run)
    (row,) = ada.json("runs")["runs"]
    proof = ada("replay", run, "--verify")

    assert run_git(ada.place, "show", f"nexus/{run}:good.txt") == "good\n"
    assert (row["status"], row["statusClaimed"], row["waits"]) == ("completed", False, "")
    assert proof.returncode == 0, proof.stderr
    ada.ok("land", run)


def test_a_yes_that_nobody_known_signed_allows_nothing_and_hides_nothing(ada: Machine, mallory: Machine) -> None:
    run = mallory.begin_waiting_run("echo evil > evil.txt")
    with mallory.run(run) as desk:
        digest = desk.view().actions["a1"].digest
        desk.log.append("permission.granted", "gate", {"action": "a1", "digest": digest, "by": "Ada", "scope": "once"})
        desk.write_checkpoint()
    mallory.sync()
    ada.sync()

    (asked,) = ada.json("review")["runs"]

    assert [one["status"] for one in asked["actions"]] == ["waiting"]
    assert asked["actions"][0]["said"]["status"] == "approved"


def test_a_person_ends_for_themselves_what_is_only_said_to_be_over(ada: Machine, mallory: Machine) -> None:
    run = mallory.begin_waiting_run("echo evil > evil.txt")
    denied_as_ada(mallory, run)
    ada.sync()

    ada.ok("cancel", run)

    assert ada.json("runs")["runs"] == []
    assert ada.json("review")["runs"] == []


@pytest.mark.slow
def test_runs_and_questions_without_end_leave_ones_own_in_sight(
    ada: Machine, mallory: Machine, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_list, "MOST_STRANGERS", 0)
    flood = mallory.begin_waiting_run("echo evil > evil.txt")
    with mallory.run(flood) as desk:
        drafts = [EventDraft("question.asked", "agent", {"question": f"q{at}", "text": "?"}) for at in range(120)]
        desk.log.append_many(drafts)
        desk.write_checkpoint()
    mallory.sync()
    ada.sync()

    shown = ada("review").stdout
    with ada.here():
        state = open_state(ada.place)
        found = runs_list.waiting_runs(state)
        state.close()

    assert [line.split()[0] for line in shown.splitlines() if line.startswith((waiting, flood))] == [waiting, flood]
    assert "and 20 questions more" in shown
    assert ([desk.record.id for desk in found.runs], found.more) == ([waiting], 1)


def test_a_log_of_ours_from_before_says_that_it_is_unsigned(ada: Machine, waiting: str) -> None:
    _without_signatures_here(ada, waiting)

    proof = ada("replay", waiting, "--verify")

    assert proof.returncode == 0
    assert "unsigned, from before logs were signed" in proof.stderr
    assert "all valid" in proof.stderr


def test_forged_events_do_not_follow_a_log_of_ours_from_before(ada: Machine, hub: Path, waiting: str) -> None:
    _without_signatures_here(ada, waiting)
    run_git(ada.place, "push", "-qf", "origin", f"refs/nexus/runs/{waiting}")
    forge(hub, waiting, CANCELLED)

    done = ada.sync()

    assert any("only claimed" in line for line in done.said), done.said
    assert status(ada, waiting) == "waiting"


def _without_signatures_here(ada: Machine, run: str) -> None:
    """Make a run look as a version left it that signed no logs."""
    rows = run_git(ada.place, "ls-tree", f"refs/nexus/runs/{run}").splitlines()
    tree = run_git(ada.place, "mktree", stdin="".join(f"{row}\n" for row in rows if "signatures.json" not in row))
    commit = run_git(ada.place, "commit-tree", "-m", "old", tree.strip())
    run_git(ada.place, "update-ref", f"refs/nexus/runs/{run}", commit.strip())
    for note in ada.home.glob(f"runs/*/{run}.signs"):
        note.unlink()


def _approver(ada: Machine, hub: Path, name: str) -> Machine:
    """Return the machine of one more approver: the first that a test does."""
    machine = Machine(hub, name, ada.prepared)

    def add() -> str:
        machine.consent()
        public = (machine.home / "keys" / "approver.pub").read_text().strip()
        ada.ok("approver", "add", public, "--name", name.title(), "--confirm", key_id(normalize_public_key(public)))
        ada.sync()
        return str(machine.sync())

    machine.step("is an approver", add)
    return machine


@pytest.mark.slow
def test_the_branch_of_ones_own_run_goes_only_where_its_log_tells(ada: Machine, mallory: Machine) -> None:
    run = ada.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"]
    ada.ok("approve", "--unseen", run)
    ada.sync()
    mallory.sync()
    ours = run_git(ada.place, "rev-parse", f"refs/heads/nexus/{run}").strip()
    evil = run_git(mallory.place, "commit-tree", f"{ours}^{{tree}}", "-p", ours, "-m", "evil").strip()
    run_git(mallory.place, "push", "-q", "origin", f"{evil}:refs/heads/nexus/{run}")

    said = ada.sync().said

    assert run_git(ada.place, "rev-parse", f"refs/heads/nexus/{run}").strip() == ours
    assert any("which its log does not mention: yours stays" in words for words in said)
    ada.ok("land", run)
