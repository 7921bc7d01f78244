"""The life of a phase, and what a run leaves behind, as texts."""

import pytest

from gitnexus.base.errors import Conflict, Duplicate, Failed, Invalid, NotFound
from gitnexus.docgraph.check import find_problems
from gitnexus.docgraph.phases import (
    DocEdit,
    edits_after_run,
    edits_for_new_agenda,
    edits_for_new_phase,
    edits_to_finish_phase,
    edits_to_start_phase,
    edits_to_tick_step,
)
from tests.docgraph.scene import AGENDA, FIRST, SECOND, graph

LAST = (
    SECOND.replace("second", "last")
    .replace("Second", "Last")
    .replace("active", "planned")
    .replace("phase.first", "phase.second")
)
THREE = {"AGENDA.md": AGENDA + "- [ ] [Last](docs/phases/last.md)\n", "docs/phases/last.md": LAST}


def after(edits: list[DocEdit], files: dict[str, str] | None = None) -> dict[str, str]:
    """Return the files as the edits leave them; each edit begins at what was there."""
    texts = {"AGENDA.md": AGENDA, "docs/phases/first.md": FIRST, "docs/phases/second.md": SECOND, **(files or {})}
    for edit in edits:
        assert (texts.get(edit.path) or None) == (edit.before.decode() if edit.before is not None else None)
        texts[edit.path] = edit.after.decode()
    return texts


def test_a_phase_is_done_in_its_file_and_in_the_agenda_once_its_steps_are() -> None:
    ready = {"docs/phases/second.md": SECOND.replace("[ ]", "[x]")}
    now = graph(ready)

    left = after(edits_to_finish_phase(now, now.phase("second")), ready)

    assert left["docs/phases/second.md"] == SECOND.replace("[ ]", "[x]").replace("active", "done")
    assert left["AGENDA.md"] == AGENDA.replace("[ ]", "[x]")
    assert find_problems(graph(left)) == []
    assert edits_to_finish_phase(graph(left), graph(left).phase("second")) == []


def test_open_steps_keep_a_phase_open_unless_it_is_forced() -> None:
    now = graph()

    with pytest.raises(Failed, match=r"second\.md:15 test it; docs/phases/second\.md:16 ship it"):
        edits_to_finish_phase(now, now.phase("second"))

    assert len(edits_to_finish_phase(now, now.phase("second"), force=True)) == 2


def test_one_phase_is_active_at_a_time_and_none_that_waits() -> None:
    now = graph(THREE)

    with pytest.raises(Failed, match=r"phase\.second is active"):
        edits_to_start_phase(now, now.phase("last"))
    with pytest.raises(Failed, match=r"phase\.last waits for phase\.second"):
        edits_to_start_phase(now, now.phase("last"), switch=True)


def test_switching_puts_the_other_phase_back() -> None:
    files = {**THREE, "docs/phases/last.md": LAST.replace("DEPENDS: [phase.second]\n", "")}
    now = graph(files)

    left = after(edits_to_start_phase(now, now.phase("phase.last"), switch=True), files)

    assert [one.status for one in graph(left).phases] == ["done", "planned", "active"]
    assert find_problems(graph(left)) == []


def test_a_phase_that_starts_again_is_open_in_the_agenda() -> None:
    now = graph({"docs/phases/second.md": SECOND.replace("active", "planned")})

    left = after(
        edits_to_start_phase(now, now.phase("first")), {"docs/phases/second.md": SECOND.replace("active", "planned")}
    )

    assert left["AGENDA.md"] == AGENDA.replace("[x]", "[ ]")
    assert "STATUS: active" in left["docs/phases/first.md"]


@pytest.mark.parametrize("word", ["test", "L15", "15", "Test it"])
def test_a_step_is_named_by_id_line_or_text(word: str) -> None:
    now = graph()

    (edit,) = edits_to_tick_step(now, now.phase("second"), word)

    assert edit.after.decode() == SECOND.replace("[ ] test", "[x] test")
    assert (
        edits_to_tick_step(graph({"docs/phases/second.md": edit.after}), graph().phase("second"), word, done=False)
        == []
    )


def test_a_step_that_is_not_there_names_those_that_are() -> None:
    now = graph()

    with pytest.raises(NotFound) as refused:
        edits_to_tick_step(now, now.phase("second"), "tset")

    assert refused.value.hint == "it has: test, L16"


def test_a_run_leaves_a_link_ticks_and_a_phase_that_is_done() -> None:
    now = graph()
    linked = SECOND.replace("#Use\n", "#Use\n  - run: r1\n")

    assert after(edits_after_run(now, now.phase("second"), "r1"))["docs/phases/second.md"] == linked
    both = edits_after_run(now, now.phase("second"), "r1", ["test", "ship it"], finish=True)
    left = after(both)
    assert [edit.path for edit in both] == ["docs/phases/second.md", "AGENDA.md"]
    assert left["docs/phases/second.md"] == linked.replace("[ ]", "[x]").replace("active", "done")
    assert left["AGENDA.md"] == AGENDA.replace("[ ]", "[x]")
    assert find_problems(graph(left, runs=("r1",))) == []
    assert edits_after_run(graph(left), graph(left).phase("second"), "r1", ["test"], finish=True) == []


def test_a_run_does_not_finish_a_phase_with_open_steps() -> None:
    now = graph()

    with pytest.raises(Failed, match=r"open steps"):
        edits_after_run(now, now.phase("second"), "r1", ["test"], finish=True)


def test_a_phase_is_added_with_its_row_and_holds_together() -> None:
    now = graph()

    left = after(edits_for_new_phase(now, "doc_graph", "The doc graph"))

    assert left["AGENDA.md"] == AGENDA + "- [ ] [The doc graph](docs/phases/doc_graph.md)\n"
    assert graph(left).phase("doc_graph").status == "planned"
    assert find_problems(graph(left)) == []


@pytest.mark.parametrize(
    ("name", "title", "error"),
    [
        ("first", "", Duplicate),
        ("phase.first", "", Duplicate),
        ("../x", "", Invalid),
        ("Ä", "", Invalid),
        ("x", "a](b)", Invalid),
    ],
)
def test_a_name_or_title_that_cannot_be_is_refused(name: str, title: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        edits_for_new_phase(graph(), name, title)


def test_an_agenda_begins_with_the_phases_that_are_there() -> None:
    now = graph({"AGENDA.md": b""})
    with pytest.raises(Duplicate):
        edits_for_new_agenda(now, "x")
    bare = type(now)(now.files, None, now.phases, (), (), now.known)

    (edit,) = edits_for_new_agenda(bare, "My project")

    assert find_problems(graph({"AGENDA.md": edit.after})) == []
    assert edit.after.decode().endswith("- [x] [First](docs/phases/first.md)\n- [ ] [Second](docs/phases/second.md)\n")


def test_an_agenda_in_the_middle_of_a_merge_is_not_written() -> None:
    with pytest.raises(Conflict, match=r"AGENDA\.md:1"):
        edits_for_new_phase(graph({"AGENDA.md": "<<<<<<< a\n=======\n>>>>>>> b\n"}), "x", "")
