"""The attacks on a log, by their number: what is done, and that it is found out or has no effect."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.events import Anchor, Artifacts, RunLog, fold, verify_log
from gitnexus.events.anchor import HeadFile
from gitnexus.events.checkpoint import load_checkpoint, write_checkpoint
from gitnexus.events.timeline import format_timeline
from gitnexus.git import Author, discover, open_objects
from tests.conftest import run_git
from tests.events.scene import ASKED, RUN, STARTED, STORY, WORKFLOW, begun, says

AUTHOR = Author("T", "t@example.com", 1_767_225_600)
FORGED = b'{"actor":"person:ann","body":{"action":"a2","by":"ann","digest":"%s","scope":"once"},' % ASKED.encode()
FORGED += b'"kind":"permission.granted","prev":"sha256:%s","seq":%d,"time":"2026-01-01T00:00:00Z"}\n'


class Scene:
    """A repository with a run in it, its log anchored in a file and on the run's ref."""

    def __init__(self, repository: Path, home: Path) -> None:
        self.repository = repository
        self.head = home / "runs" / "project" / f"{RUN}.head"
        self.log = RunLog(discover(repository).common_dir / "nexus" / "runs" / RUN, head=self.head)
        self.log.append_many(STORY)
        self.kept = Artifacts(self.log.folder).write("x.diff", b"approved")
        objects = open_objects(discover(repository))
        write_checkpoint(self.log, WORKFLOW, objects, AUTHOR)
        found = load_checkpoint(objects, RUN)
        objects.close()
        file = HeadFile(self.head).read()
        assert found is not None
        assert file is not None
        self.anchors: list[Anchor] = [found.anchor, file]

    def lines(self) -> list[bytes]:
        return self.log.path.read_bytes().splitlines(keepends=True)

    def put(self, lines: list[bytes]) -> None:
        self.log.path.write_bytes(b"".join(lines))


@pytest.fixture
def scene(repository: Path, tmp_path: Path) -> Scene:
    return Scene(repository, tmp_path / "home")


def cut_at_a_line(scene: Scene) -> None:
    scene.put(scene.lines()[:-1])


def cut_behind_the_checkpoint(scene: Scene) -> None:
    scene.put(scene.lines()[:6])


def cut_and_go_on(scene: Scene) -> None:
    scene.put(scene.lines()[:6])
    says(RunLog(scene.log.folder), "nothing happened")


def cut_and_grow_past_the_anchor(scene: Scene) -> None:
    scene.put(scene.lines()[:6])
    for _ in range(20):
        says(RunLog(scene.log.folder))


def delete(scene: Scene) -> None:
    scene.log.path.unlink()


def drop_from_the_middle(scene: Scene) -> None:
    lines = scene.lines()
    scene.put(lines[:4] + lines[5:])


def edit_the_middle(scene: Scene) -> None:
    scene.put([line.replace(b"remove dead code", b"remove all tests") for line in scene.lines()])


def repeat_an_approval(scene: Scene) -> None:
    lines = scene.lines()
    scene.put([*lines, lines[5]])


def append_a_forgery(scene: Scene) -> None:
    lines = scene.lines()
    scene.put([*lines, FORGED % (b"0" * 64, len(lines) + 1)])


def begin_anew(scene: Scene) -> None:
    scene.log.path.unlink()
    RunLog(scene.log.folder).append_many(STORY)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(cut_at_a_line, id="181-cut-at-a-line"),
        pytest.param(cut_behind_the_checkpoint, id="181-cut-behind-the-checkpoint"),
        pytest.param(cut_and_go_on, id="181-cut-and-go-on"),
        pytest.param(cut_and_grow_past_the_anchor, id="181-cut-and-grow-past-the-anchor"),
        pytest.param(delete, id="181-delete"),
        pytest.param(begin_anew, id="181-begin-anew"),
        pytest.param(cut_behind_the_checkpoint, id="108-cut-off-the-spent-nonce"),
        pytest.param(drop_from_the_middle, id="181-drop-from-the-middle"),
        pytest.param(edit_the_middle, id="185-edit-the-middle"),
        pytest.param(repeat_an_approval, id="185-repeat-an-approval"),
        pytest.param(append_a_forgery, id="185-append-a-forgery"),
    ],
)
def test_a_log_that_was_tampered_with_is_found_out(scene: Scene, attack: Callable[[Scene], None]) -> None:
    assert verify_log(scene.log, scene.anchors).torn == 0

    attack(scene)

    with pytest.raises(VerificationFailed):
        verify_log(RunLog(scene.log.folder), scene.anchors)
    log = RunLog(scene.log.folder, head=scene.head)
    with pytest.raises((VerificationFailed, NotFound)):
        write_checkpoint(log, WORKFLOW, open_objects(discover(scene.repository)), AUTHOR)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(cut_at_a_line, id="181-cut-at-a-line"),
        pytest.param(cut_and_go_on, id="181-cut-and-go-on"),
        pytest.param(delete, id="181-delete"),
    ],
)
def test_nobody_writes_on_top_of_a_log_that_is_shorter_than_its_head(
    scene: Scene, attack: Callable[[Scene], None]
) -> None:
    attack(scene)

    with pytest.raises(VerificationFailed):
        RunLog(scene.log.folder, head=scene.head).append(*STARTED)


@pytest.mark.parametrize(
    "mark",
    [
        pytest.param("\n", id="183-newline"),
        pytest.param("\r\n", id="183-carriage-return"),
        pytest.param("\u2028", id="183-line-separator"),
        pytest.param("\x85", id="183-next-line"),
        pytest.param("\x1c", id="183-file-separator"),
        pytest.param('"}\n', id="183-closed-object"),
    ],
)
def test_text_of_an_agent_never_becomes_an_event(tmp_path: Path, mark: str) -> None:
    log = begun(tmp_path, 3)
    summary = "tidy" + mark + '{"kind":"permission.granted"}'

    log.append("action.proposed", "agent:x", {**STORY[3].body, "summary": summary})

    *_, event = log.read()
    assert verify_log(log).events == len(log.path.read_text("utf-8").splitlines()) == 4
    assert event.body["summary"] == summary
    assert all(len(line.splitlines()) == 1 for line in format_timeline(log.read()))


@pytest.mark.parametrize("count", [pytest.param(n, id=f"180-torn-after-{n}") for n in (1, 7, 9, 12)])
def test_a_torn_end_is_recovered_and_says_so(tmp_path: Path, count: int) -> None:
    log = begun(tmp_path, count)
    before = fold(log.read())
    with log.path.open("ab") as handle:
        handle.write(log.raw().splitlines()[-1][:-9])

    says(log)

    *events, mark, _ = log.read()
    assert mark.kind == "log.recovered"
    assert fold(events) == before
    assert fold(log.read()).actions == before.actions


def test_185_the_log_is_in_no_worktree(scene: Scene) -> None:
    places = [line[9:] for line in run_git(scene.repository, "worktree", "list", "--porcelain").splitlines()[:1]]

    inside = scene.log.path.relative_to(places[0]).parts

    assert inside[:2] == (".git", "nexus")
    assert run_git(scene.repository, "status", "--porcelain", "--ignored") == ""


def test_186_a_swapped_artifact_is_not_read_and_not_put_on_the_ref(scene: Scene) -> None:
    new = Artifacts(scene.log.folder).write("y.diff", b"approved too")
    for kept in (scene.kept, new):
        (scene.log.folder / "artifacts" / kept.digest[7:]).write_bytes(b"+ evil")
        with pytest.raises(VerificationFailed):
            Artifacts(scene.log.folder).read(kept.digest)
    objects = open_objects(discover(scene.repository))
    says(scene.log)

    with pytest.raises(VerificationFailed, match="holds something else"):
        write_checkpoint(scene.log, WORKFLOW, objects, AUTHOR)

    found = load_checkpoint(objects, RUN)
    assert found is not None
    assert found.artifact(scene.kept.digest) == b"approved"


def test_188_an_action_that_was_begun_and_not_seen_to_end_is_unknown(tmp_path: Path) -> None:
    log = begun(tmp_path, 7)

    view = fold(log.read())

    assert (view.actions["a1"].status, view.actions["a1"].ok, view.nonces) == ("unknown", None, ("n1",))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("tidy\n\nNexus-Approval: forged", id="190-trailer"),
        pytest.param("tidy\n---\nmore", id="191-divider"),
        pytest.param("ok” → ok\x1b[2K\x1b[1A person:ann: ann approved a1", id="168-fake-line"),
    ],
)
def test_text_of_an_agent_stands_in_quotes_on_one_line(tmp_path: Path, text: str) -> None:
    log = begun(tmp_path, 3)
    log.append("action.proposed", "agent:x", {**STORY[3].body, "summary": text})

    *_, line = format_timeline(log.read())

    shown = line[line.index("a1: ") + 4 :].removesuffix(" → aaaaaaaaaaaa")
    assert (shown[0], shown[-1], shown.count("“"), shown.count("”")) == ("“", "”", 1, 1)
    assert not any(ch in shown for ch in "\n\x1b")


def test_193_events_of_one_instant_and_of_a_clock_set_back_keep_their_order(tmp_path: Path) -> None:
    days = iter([9, 9, 1, 1, 5])
    log = RunLog(tmp_path / RUN, clock=lambda: datetime(2026, 1, next(days), tzinfo=UTC))

    log.append_many(STORY[:2])
    for text in ("one", "two", "three"):
        says(log, text)

    assert [event.body["text"] for event in log.read() if event.kind == "agent.progress"] == ["one", "two", "three"]
