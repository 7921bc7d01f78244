"""Two clones and a hub, through real fetches and pushes."""

import json
from pathlib import Path

import pytest

from gitnexus.app.init import init_project
from gitnexus.base.errors import Conflict, Failed, Invalid, NotFound
from gitnexus.events.checkpoint import write_checkpoint
from gitnexus.events.log import RunLog
from gitnexus.events.model import definition_hash
from gitnexus.git import exchange
from gitnexus.policy.approver_changes import add_approver, list_approvers, read_candidate_key
from gitnexus.projects.open_state import open_state
from gitnexus.state import STATE_REF, State
from gitnexus.sync.bundle import apply_bundle, create_bundle
from tests.conftest import Nexus, run_git, trust
from tests.sync.conftest import cloned
from tests.sync.two import Clone


def test_what_one_did_the_other_has_and_it_is_told_in_words(ada: Clone, bob: Clone) -> None:
    ada.add(1, "one")
    ada.add(2, "two")
    ada.write({"memory/deploy.md": b"# Deploy\n"})

    given, taken = ada.sync(), bob.sync()

    assert (given.pushed, given.pulled) == (["2 tasks", "1 memory note"], [])
    assert (taken.pulled, taken.pushed, taken.joined) == (["2 tasks", "1 memory note"], [], False)
    assert bob.tip == ada.tip
    assert (bob.place / ".nexus/backlog/T2.json").read_bytes() == ada.read("backlog/T2.json")
    assert bob.sync().pulled == []


def test_two_tasks_of_one_number_both_stay_and_references_follow(ada: Clone, bob: Clone) -> None:
    ada.add(1, "of ada")
    bob.add(1, "of bob")
    bob.add(2, "after that", depends=["T1"])
    bob.write({"runs/261116-1503-k7fb.json": b'{"agent":"x","base":"b","created":"c","definition":"d",'
               b'"id":"261116-1503-k7fb","task":"T1","title":"t"}\n'})  # fmt: skip
    ada.sync()

    done = bob.sync()
    ada.sync()

    assert ada.tree == bob.tree
    assert [ada.task(number)["title"] for number in (1, 2, 3)] == ["of ada", "after that", "of bob"]
    assert (ada.task(3)["aliases"], ada.task(2)["depends"]) == (["T1"], ["T3"])
    assert json.loads(ada.read("runs/261116-1503-k7fb.json") or b"")["task"] == "T3"
    assert done.said == ["your T1 is T3 now (of bob): the number was taken there"]


def test_a_dry_run_tells_both_ways_and_changes_nothing(ada: Clone, bob: Clone, hub: Path) -> None:
    ada.add(1, "one")
    ada.sync()
    bob.write({"memory/a.md": b"# A\n"})
    before = bob.tip, run_git(hub, "for-each-ref")

    done = bob.sync(dry_run=True)

    assert (done.pulled, done.pushed[:1]) == (["1 task"], ["1 memory note"])
    assert (bob.tip, run_git(hub, "for-each-ref")) == before


def test_pull_alone_gives_nothing_and_push_alone_refuses_to_pass_over_what_is_new(ada: Clone, bob: Clone) -> None:
    ada.add(1, "one")
    ada.sync()
    bob.write({"memory/a.md": b"# A\n"})

    with pytest.raises(Failed, match="has what this clone lacks"):
        bob.sync(pull=False)
    bob.sync(push=False)

    assert bob.task(1)["title"] == "one"
    assert ada.sync().pulled == []


def test_a_text_that_both_changed_is_kept_twice_and_the_doctor_names_it(ada: Clone, bob: Clone) -> None:
    ada.write({"rules/a.md": b"one\n"})
    ada.sync()
    bob.sync()
    ada.write({"rules/a.md": b"of ada\n"})
    bob.write({"rules/a.md": b"of bob\n"})
    ada.sync()

    done = bob.sync()

    assert bob.read("rules/a.md") == b"of ada\n"
    assert [bob.read(path) for path in done.beside] == [b"of bob\n"]
    assert f".nexus/{done.beside[0]} is another clone's version" in Nexus(bob.place)("doctor").stdout
    (bob.place / ".nexus" / done.beside[0]).unlink()
    assert bob.sync().pushed == ["1 rule"]
    assert done.beside[0] not in Nexus(bob.place)("doctor").stdout


def test_who_is_second_fetches_again_and_loses_nothing(ada: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    bob.add(1, "of bob")
    pushed = exchange.push_ref_updates
    raced = []

    def slow(*given: object, **more: object) -> object:
        if not raced:
            raced.append(1)
            ada.add(1, "of ada")
            ada.sync()
        return pushed(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("gitnexus.sync.sync.push_ref_updates", slow)

    done = bob.sync()

    assert done.tries == 2
    assert [bob.task(number)["title"] for number in (1, 2)] == ["of ada", "of bob"]
    ada.sync()
    assert ada.tree == bob.tree


def test_another_reason_than_being_second_is_told_and_not_tried_again(ada: Clone, hub: Path) -> None:
    hook = hub / "hooks" / "update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    ada.add(1, "one")

    with pytest.raises(Failed, match="refuses refs/nexus/state") as refused:
        ada.sync()

    assert refused.value.fix == "git config remote.origin.nexusWireRef refs/heads/nexus-state"


def test_a_host_that_takes_only_branches_holds_the_state_on_one_and_a_clone_finds_it(ada: Clone, hub: Path) -> None:
    run_git(hub, "update-ref", "-d", STATE_REF)
    run_git(ada.place, "update-ref", "-d", "refs/nexus-sync/origin/state")
    run_git(hub, "config", "receive.hideRefs", "refs/nexus")
    ada.add(1, "one")
    said = Nexus(ada.place).ok("sync", "--probe")
    run_git(ada.place, "config", "nexus.wireRef", "refs/heads/nexus-state")

    ada.sync()
    bob = cloned(hub, "bob")
    bob.add(2, "two")
    bob.sync()
    ada.sync()

    assert "does not accept refs/nexus/*" in said
    assert run_git(hub, "for-each-ref", "--format=%(refname)", "refs/nexus", "refs/heads/nexus-state").split() == [
        "refs/heads/nexus-state"
    ]
    assert (ada.task(2)["title"], bob.task(1)["title"]) == ("two", "one")


def test_two_remotes_and_a_fork_whose_upstream_is_only_read(ada: Clone, hub: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--mirror", str(hub), "fork.git")
    run_git(tmp_path, "clone", "-q", "fork.git", "eve")
    run_git(tmp_path / "eve", "remote", "add", "upstream", str(hub))
    run_git(tmp_path / "eve", "config", "remote.upstream.nexusSync", "pull")
    init_project(tmp_path / "eve", name=None, aliases=(), with_hooks=False, local=False).nexus.close()
    eve = Clone(tmp_path / "eve")
    ada.add(1, "upstream")
    ada.sync()
    eve.add(1, "in the fork")

    eve.sync("upstream")
    eve.sync("origin")

    assert [eve.task(number)["title"] for number in (1, 2)] == ["upstream", "in the fork"]
    assert run_git(hub, "rev-parse", STATE_REF).strip() == ada.tip
    assert run_git(tmp_path / "fork.git", "rev-parse", STATE_REF).strip() == eve.tip


@pytest.mark.slow
def test_a_shallow_and_a_partial_clone_take_part(ada: Clone, hub: Path, tmp_path: Path) -> None:
    run_git(hub, "config", "uploadpack.allowFilter", "true")
    ada.add(1, "one")
    ada.sync()
    for name, how in (("shallow", "--depth=1"), ("partial", "--filter=blob:none")):
        run_git(tmp_path, "clone", "-q", how, f"file://{hub}", name)
        init_project(tmp_path / name, name=None, aliases=(), with_hooks=False, local=False).nexus.close()
    shallow, partial = Clone(tmp_path / "shallow"), Clone(tmp_path / "partial")
    shallow.add(2, "shallow")
    partial.add(2, "partial")

    shallow.sync()
    partial.sync()
    ada.sync()

    assert [ada.task(number)["title"] for number in (1, 2, 3)] == ["one", "shallow", "partial"]


def test_a_state_that_was_fetched_shallow_is_completed(ada: Clone, bob: Clone, hub: Path) -> None:
    ada.add(1, "one")
    ada.sync()
    bob.add(2, "two")
    run_git(bob.place, "update-ref", "-d", "refs/nexus-sync/origin/state")
    run_git(bob.place, "fetch", "-q", "--depth=1", f"file://{hub}", f"+{STATE_REF}:refs/nexus-sync/origin/state")

    bob.sync(f"file://{hub}")

    assert (bob.task(1)["title"], bob.task(2)["title"]) == ("one", "two")


def test_states_that_began_apart_are_refused_until_one_is_adopted(ada: Clone, hub: Path, tmp_path: Path) -> None:
    ada.add(1, "of ada")
    ada.sync()
    run_git(tmp_path, "init", "-q", "zoe")
    init_project(tmp_path / "zoe", name=None, aliases=(), with_hooks=False, local=False).nexus.close()
    zoe = Clone(tmp_path / "zoe")
    zoe.add(1, "of zoe")
    before = zoe.tip
    run_git(zoe.place, "remote", "add", "origin", str(hub))

    with pytest.raises(Conflict, match="of another project") as refused:
        zoe.sync()
    assert "git nexus sync --adopt" in (refused.value.hint or "")
    assert zoe.tip == before
    zoe.sync(adopt=True)
    ada.sync()

    assert ada.tree == zoe.tree
    assert [ada.task(number)["title"] for number in (1, 2)] == ["of ada", "of zoe"]
    assert Nexus(zoe.place)("doctor").returncode == 0


def test_which_refs_travel_is_a_setting_of_the_remote_or_of_the_project(ada: Clone, bob: Clone, hub: Path) -> None:
    run_git(ada.place, "update-ref", "refs/heads/nexus/261116-1503-k7fb", "HEAD")
    run_git(ada.place, "config", "remote.origin.nexusRefs", "state")
    ada.sync()
    assert "refs/heads/nexus/261116-1503-k7fb" not in run_git(hub, "for-each-ref")
    run_git(ada.place, "config", "remote.origin.nexusRefs", "branches")
    ada.add(1, "stays here")

    assert ada.sync().pushed == ["1 branch"]
    assert bob.sync().pulled == ["1 branch"]
    bob.write({"settings.json": b'{"sync":{"refs":["nothing"]}}\n'})
    with pytest.raises(Invalid, match="nothing to sync"):
        bob.sync()


def test_a_remote_that_is_not_there_is_named(ada: Clone) -> None:
    with pytest.raises(NotFound, match="no remote 'nobody'"):
        ada.sync("nobody")
    run_git(ada.place, "remote", "add", "far", "/nowhere/at/all.git")
    with pytest.raises(exchange.RemoteUnreachable, match="far cannot be asked"):
        ada.sync("far")


@pytest.mark.slow
def test_a_push_syncs_where_that_was_asked_for_and_goes_on_where_it_fails(ada: Clone, bob: Clone) -> None:
    nexus = Nexus(ada.place)
    assert "pre-push" not in nexus.ok("hooks", "install")
    assert "pre-push" in nexus.ok("hooks", "install", "--sync")
    ada.add(1, "one")

    run_git(ada.place, "commit", "-q", "--allow-empty", "-m", "work")
    run_git(ada.place, "push", "-q", "origin", "main")

    assert bob.sync().pulled == ["1 task"]
    run_git(ada.place, "config", "remote.origin.nexusRefs", "rubbish")
    run_git(ada.place, "commit", "-q", "--allow-empty", "-m", "more")
    run_git(ada.place, "push", "-q", "origin", "main")
    assert "pre-push" in nexus.ok("hooks", "uninstall")


def begin_log(clone: Clone, run: str) -> None:
    """Put a log of one event on the ref of a run."""
    log = RunLog(clone.place / ".git" / "elsewhere" / run)
    log.append("workflow.started", "user", {"run": run, "definition": definition_hash({}), "agent": "command"})
    state = State.open(clone.place)
    write_checkpoint(log, {}, state.objects, state.author)
    state.close()


def folded(clone: Clone, *runs: str) -> None:
    """Put logs into the archive of their month, each with a ref before it that is gone now."""
    trees = {run: run_git(clone.place, "rev-parse", f"refs/nexus/runs/{run}^{{tree}}").strip() for run in runs}
    rows = "".join(f"040000 tree {tree}\t{run}\n" for run, tree in trees.items())
    tree = run_git(clone.place, "mktree", stdin=rows).strip()
    refs = [run_git(clone.place, "for-each-ref", "--format=%(objectname)", f"refs/nexus/runs/{run}") for run in runs]
    parents = [word for oid in refs if oid for word in ("-p", oid.strip())]
    commit = run_git(clone.place, "commit-tree", *parents, "-m", "archive", tree).strip()
    run_git(clone.place, "update-ref", "refs/nexus/archive/2026-11", commit)
    for run in runs:
        run_git(clone.place, "update-ref", "-d", f"refs/nexus/runs/{run}")


@pytest.mark.slow
def test_archives_of_both_become_one_and_a_log_that_is_in_it_goes_from_the_remote(
    ada: Clone, bob: Clone, hub: Path
) -> None:
    one, two = "261116-1503-k7fb", "261116-1504-k7fc"
    for clone, run in ((ada, one), (bob, two)):
        begin_log(clone, run)
        clone.sync()
    assert len(run_git(hub, "for-each-ref", "refs/nexus/runs").splitlines()) == 2
    folded(ada, one)
    folded(bob, two)

    for clone in (ada, bob, ada):
        clone.sync()

    for place in (ada.place, bob.place, hub):
        assert run_git(place, "ls-tree", "--name-only", "refs/nexus/archive/2026-11").split() == [one, two]
    assert run_git(hub, "for-each-ref", "refs/nexus/runs") == ""


def test_what_a_session_works_with_and_keys_never_leave(ada: Clone, hub: Path) -> None:
    (ada.place / ".nexus/state/claude-code").mkdir(parents=True)
    (ada.place / ".nexus/state/plan.json").write_text("{}")
    (ada.place / ".nexus/state/claude-code/agent-tracker.json").write_text("[]")
    ada.add(1, "one")

    ada.sync()

    refs = run_git(hub, "for-each-ref", "--format=%(refname)").split()
    assert [ref for ref in refs if not ref.startswith("refs/heads/main")] == [STATE_REF]
    paths = run_git(hub, "ls-tree", "-r", "--name-only", STATE_REF).split()
    ours = [path for path in paths if not path.startswith(("commands/builtins/", "schemas/"))]
    assert ours == [".gitignore", "approvers", "backlog/T1.json", "format.json", "policy.md", "policy/signatures.json"]
    assert "PRIVATE KEY" not in run_git(hub, "grep", "-a", "-h", "-e", "", STATE_REF)


def test_state_goes_in_a_file_where_there_is_no_network(ada: Clone, bob: Clone, tmp_path: Path) -> None:
    ada.add(1, "one")
    bob.add(1, "two")
    file = tmp_path / "a b.bundle"
    Nexus(ada.place).ok("bundle", "create", str(file))

    said = Nexus(bob.place).ok("bundle", "apply", str(file))

    assert said.startswith(f"Received from {file}: 1 task\n")
    assert [bob.task(number)["title"] for number in (1, 2)] == ["one", "two"]
    assert "refs/nexus-sync/bundle" not in run_git(bob.place, "for-each-ref")


def test_a_file_that_is_no_bundle_or_lacks_its_basis_is_refused(ada: Clone, bob: Clone, tmp_path: Path) -> None:
    here, there = open_state(ada.place), open_state(bob.place)
    file = tmp_path / "some.bundle"
    with pytest.raises(NotFound, match="there is no file"):
        apply_bundle(there, file, dry_run=False, adopt=False)
    file.write_text("rubbish")
    with pytest.raises(Invalid, match="cannot be used here"):
        apply_bundle(there, file, dry_run=False, adopt=False)
    ada.add(1, "one")
    ada.sync()
    ada.add(2, "two")
    create_bundle(here, file, branches=False, basis="origin")
    with pytest.raises(Invalid, match="cannot be used here"):
        apply_bundle(there, file, dry_run=False, adopt=False)

    bob.sync()
    apply_bundle(there, file, dry_run=False, adopt=False)

    assert bob.task(2)["title"] == "two"
    here.close()
    there.close()


def test_a_policy_that_both_sides_signed_ends_as_the_stricter_one(ada: Clone, bob: Clone) -> None:
    strict = b"---\nversion: 1\ndeny:\n  - run: [curl, '**']\nask:\n  - run: [make]\n---\n\n# Policy\n"
    ada.write({"policy.md": b"---\nversion: 1\ndeny:\n  - run: [curl, '**']\n---\n\n# Policy\n"})
    trust(ada.place)
    bob.write({"policy.md": strict})
    trust(bob.place)
    ada.sync()

    bob.sync()
    ada.sync()

    assert ada.read("policy.md") == bob.read("policy.md") == strict
    assert "not in force" not in Nexus(ada.place)("doctor").stdout


def test_two_policies_of_which_neither_is_stricter_become_one_with_the_strict_part_of_both(
    ada: Clone, bob: Clone
) -> None:
    text = "---\nversion: 1\ndeny:\n  - run: [{0}, '**']\nallow:\n  - run: [make, {0}]\n---\n\n# Policy\n"
    for clone, word in ((ada, "curl"), (bob, "wget")):
        clone.write({"policy.md": text.format(word).encode()})
        trust(clone.place)
    ada.sync()

    bob.sync()

    found = (bob.read("policy.md") or b"").decode()
    aside = next((bob.place / ".nexus" / "conflicts").iterdir())
    assert aside.read_text() == text.format("wget")
    assert "curl" in found and "wget" in found
    assert "policy.md is not in force" in Nexus(bob.place)("doctor").stdout


def test_approvers_that_both_sides_added_are_all_there_and_signed(ada: Clone, bob: Clone) -> None:
    for clone, letter, name in ((ada, "B", "Kim"), (bob, "C", "Lou")):
        key = ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + letter * 43 + "=")[:80]
        state = open_state(clone.place)
        add_approver(state, read_candidate_key(clone.place, key, name))
        state.close()
    ada.sync()

    bob.sync()
    ada.sync()

    for clone in (ada, bob):
        state = open_state(clone.place)
        assert sorted(one.name for one in list_approvers(state).approvers.active) == ["Kim", "Lou", "Test Person"]
        state.close()


@pytest.mark.slow
def test_a_dependency_from_another_project_follows_a_task_that_a_sync_renumbered(
    ada: Clone, bob: Clone, nexus: Nexus, tmp_path: Path
) -> None:
    run_git(tmp_path, "init", "-q", "app")
    app = tmp_path / "app"
    assert nexus("init", "--no-hooks", "--name", "app", place=app).returncode == 0
    assert nexus("register", str(bob.place), "--name", "bobs", place=app).returncode == 0
    assert nexus("grant", "app", "bobs", "--permission", "execute", place=app).returncode == 0
    ada.add(1, "of ada")
    ada.sync()
    bob.add(1, "of bob")
    assert nexus("task", "add", "waits", "--depends", "bobs:T1", place=app).returncode == 0

    bob.sync()
    assert nexus("task", "complete", "bobs:T1", place=app).returncode == 0

    done = json.loads(nexus("deps", "T1", "--json", place=app).stdout)
    assert [(one["ref"], one["title"], one["status"]) for one in done["dependencies"]] == [
        ("bobs:T2", "of bob", "pending")
    ]
    assert done["blocked"]


@pytest.mark.slow
def test_a_rule_that_was_added_after_the_policy_was_signed_is_not_taken_for_an_old_version(
    ada: Clone, bob: Clone
) -> None:
    here, there = Nexus(ada.place), Nexus(bob.place)
    here.ok("policy", "add", "deny", "--", "first")
    there.ok("policy", "add", "deny", "--", "other")
    for clone in (ada, bob, ada):
        clone.sync()
    trust(ada.place)
    here.ok("policy", "add", "deny", "--", "second")
    there.ok("task", "add", "beside")

    for clone in (ada, bob, ada):
        clone.sync()

    for clone in (ada, bob):
        assert all(word in (clone.read("policy.md") or b"") for word in (b'"first"', b'"other"', b'"second"'))
    assert ada.tree == bob.tree
