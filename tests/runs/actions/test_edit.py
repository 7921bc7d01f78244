"""A person edits a patch that waits: a new proposal in its place, and whatever goes wrong loses nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitnexus.base.errors import Conflict, DeniedByPolicy, Failed, Invalid, NexusError
from gitnexus.git.user_git import editor_command, open_in_editor
from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.actions.edit import propose_edited_patch, write_draft
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.runs.open_run import OpenRun
from tests.conftest import Nexus, run_git, trust
from tests.runs.begun import begun, new_file, patch_of
from tests.runs.live import MORE, commits, events, folder, listed, typed
from tests.runs.live import begun as begun_by_hand

GREET = patch_of("readme.txt", "hello", "goodbye")


@pytest.fixture
def desk(project: Path) -> Iterator[OpenRun]:
    with begun(project) as found:
        call_run_tool(found, "propose_patch", {"patch": GREET + new_file("other.txt"), "summary": "greet"})
        yield found


def changed(desk: OpenRun, old: str, new: str, action: str = "a1") -> str:
    file = write_draft(desk, action)
    file.write_text(file.read_text().replace(old, new))
    return propose_edited_patch(desk, action)


def test_an_edit_on_the_terminal_is_another_card_and_what_is_committed(nexus: Nexus, project: Path) -> None:
    run = begun_by_hand(nexus, "echo more >> readme.txt; echo x > unwanted")
    program = "sed -i 's/^+more/+less/;/^diff.*unwanted/,/^+x/d'"

    status, shown = typed(
        project,
        "e\ny",
        "git-nexus",
        "review",
        run,
        env={"NO_COLOR": "1", "GIT_EDITOR": program},
    )

    (commit,) = commits(project, run)
    assert status == 0, shown
    assert "a2 is proposed instead of a1" in shown
    assert shown.count("│ +less") == 1
    assert run_git(project, "show", "--name-only", "--format=%an|%cn%n%b", commit).startswith(
        "command (agent)|Test Person\nEdited by Test Person before it was approved.\n"
    )
    assert run_git(project, "show", f"{commit}:readme.txt") == "hello\nless\n"
    assert run_git(project, "ls-tree", "--name-only", commit) == "readme.txt\n"
    proposed = events(project, run, "action.proposed")
    assert [(one["action"], one.get("replaces"), one.get("by")) for one in proposed] == [
        ("a1", None, None), ("a2", "a1", "Test Person")
    ]  # fmt: skip
    assert "Test Person proposes patch a2 instead of a1" in nexus.ok("replay", "--verify", run)
    assert listed(nexus)[run]["status"] == "completed"
    assert not list(folder(project, run).glob("edit-*"))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        pytest.param("no-such-editor-here 2>/dev/null", "failed with 127", id="there-is-no-such-editor"),
        pytest.param("sed -i 's/^+more/ more/'", "does not fit", id="does-not-apply"),
    ],
)
def test_an_edit_that_is_none_is_a_sentence_and_the_old_card_again(
    nexus: Nexus, project: Path, program: str, words: str
) -> None:
    run = begun_by_hand(nexus, MORE)

    _, shown = typed(project, "e\nq", "git-nexus", "review", run, env={"NO_COLOR": "1", "GIT_EDITOR": program})

    assert (words in shown, shown.count(f"┌ patch {run} a1")) == (True, 2), shown
    assert [body["action"] for body in events(project, run, "action.proposed")] == ["a1"]
    assert listed(nexus)[run]["status"] == "waiting"
    nexus.ok("approve", "--unseen", run)
    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "hello\nmore\n"


def without_effect(text: str) -> str:
    """Leave a hunk that has nothing but the line that is there."""
    return text[text.index("diff --git a/readme.txt") :].replace("-hello", " hello").replace("+goodbye\n", "")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        pytest.param(lambda text: text, "nothing was changed", id="unchanged"),
        pytest.param(lambda text: "", "nothing is left", id="empty"),
        pytest.param(lambda text: text.replace("+goodbye", " goodbye"), "does not fit", id="does-not-apply"),
        pytest.param(without_effect, "changes nothing", id="changes-nothing"),
        pytest.param(lambda text: text.replace("readme.txt", ".env"), "does not fit", id="another-file"),
    ],
)
def test_an_edit_that_is_none_is_not_taken_and_the_old_proposal_waits(
    desk: OpenRun, edit: Callable[[str], str], words: str
) -> None:
    file = write_draft(desk, "a1")
    file.write_text(edit(file.read_text()))

    with pytest.raises(NexusError, match=words):
        propose_edited_patch(desk, "a1")

    assert [(name, one.status) for name, one in desk.view().actions.items()] == [("a1", "waiting")]


@pytest.mark.parametrize(("program", "status"), [("false", 1), ("no-such-editor-here 2>/dev/null", 127)])
def test_an_editor_that_fails_is_named_with_its_status(
    project: Path, monkeypatch: pytest.MonkeyPatch, program: str, status: int
) -> None:
    monkeypatch.setenv("GIT_EDITOR", program)

    with pytest.raises(Failed, match=f"failed with {status}"):
        open_in_editor(project, project / "readme.txt")


def test_hunks_need_not_count_and_a_file_can_be_left_out(desk: OpenRun, project: Path) -> None:
    new = changed(desk, "+goodbye\n", "+good\n+bye\n")
    file = write_draft(desk, new)
    above, *parts = file.read_text().split("diff --git ")
    file.write_text("diff --git ".join([above, *(part for part in parts if "other.txt" not in part)]))
    last = propose_edited_patch(desk, new)

    approve_action(desk, last)

    view = desk.view()
    assert [(name, one.status, one.why) for name, one in view.actions.items()][:2] == [
        ("a1", "denied", "a2 replaces it"), ("a2", "denied", "a3 replaces it")
    ]  # fmt: skip
    assert view.odd == ()
    assert (desk.worktree_path / "readme.txt").read_text() == "good\nbye\n"
    assert not (desk.worktree_path / "other.txt").exists()
    assert run_git(project, "diff", "--name-only", "HEAD", desk.branch) == "readme.txt\n"


def test_an_edit_back_to_what_it_was_is_an_action_of_its_own(desk: OpenRun) -> None:
    changed(desk, "+goodbye", "+ciao")
    changed(desk, "+ciao", "+goodbye", "a2")

    assert approve_action(desk, "a3") == "executed"
    assert desk.view().odd == ()
    assert (desk.worktree_path / "readme.txt").read_text() == "goodbye\n"


def test_what_was_not_taken_is_in_the_draft_the_next_time(desk: OpenRun) -> None:
    with pytest.raises(Conflict):
        changed(desk, "-hello", "-another")
    again = write_draft(desk, "a1")

    assert "-another" in again.read_text()
    again.write_text(again.read_text().replace("-another", "-hello").replace("+goodbye", "+ciao"))
    assert propose_edited_patch(desk, "a1") == "a2"
    assert not again.exists()


def test_an_edit_that_the_policy_denies_leaves_the_old_one_waiting(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "deny", "--write", "secret/**")
    trust(project)
    with begun(project) as desk:
        call_run_tool(desk, "propose_patch", {"patch": new_file("other.txt")})

        with pytest.raises(DeniedByPolicy):
            changed(desk, "other.txt", "secret/other.txt")

        assert [(one.status, one.verdict) for one in desk.view().actions.values()] == [("waiting", "ask")]
        assert [event.body["action"] for event in desk.log.read() if event.kind == "action.rejected"] == ["edit"]


def test_who_was_answered_meanwhile_is_not_edited_any_more(desk: OpenRun) -> None:
    file = write_draft(desk, "a1")
    file.write_text(file.read_text().replace("+goodbye", "+ciao"))
    approve_action(desk, "a1")

    with pytest.raises(NexusError, match="a1 is executed by now"):
        propose_edited_patch(desk, "a1")

    assert "+ciao" in file.read_text()
    assert list(desk.view().actions) == ["a1"]


def test_a_carriage_return_in_a_line_hides_nothing_behind_it(desk: OpenRun) -> None:
    file = write_draft(desk, "a1")
    file.write_bytes(file.read_bytes().replace(b"+goodbye\n", b"+good\r# bye\n"))

    approve_action(desk, propose_edited_patch(desk, "a1"))

    assert (desk.worktree_path / "readme.txt").read_bytes() == b"good\r# bye\n"


def test_only_patches_are_edited(desk: OpenRun) -> None:
    call_run_tool(desk, "propose_command", {"argv": ["true"]})

    with pytest.raises(Invalid):
        write_draft(desk, "a2")


def test_the_first_and_last_lines_of_a_draft_are_ours(desk: OpenRun) -> None:
    lines = write_draft(desk, "a1").read_text().splitlines()

    assert all(line.startswith("#") for line in (*lines[:5], *lines[-5:]))
    assert write_draft(desk, "a1").stat().st_mode & 0o777 == 0o600


def test_the_editor_is_the_one_that_git_would_open(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    with pytest.raises(Failed, match="no editor"):
        editor_command(project)

    found = []
    for name in ("EDITOR", "config", "GIT_EDITOR"):
        if name == "config":
            run_git(project, "config", "core.editor", name)
        else:
            monkeypatch.setenv(name, f"{name} -w")
        found.append(editor_command(project))

    assert found == ["EDITOR -w", "config", "GIT_EDITOR -w"]
