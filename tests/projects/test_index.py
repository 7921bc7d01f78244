"""The index: right answers, whatever happens to its file."""

import itertools
import multiprocessing
import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.projects.discovery import RelatedQuery, find_related_tasks, rank_answers
from gitnexus.projects.finding import TaskFilter, find_tasks, fold_text
from gitnexus.projects.index import word_lists
from gitnexus.projects.index.file import with_index
from gitnexus.projects.index.model import IndexEntry, IndexRow, TaskIndex
from gitnexus.projects.index.posting_lists import split_mark, unpack_marks
from gitnexus.projects.index.refresh import refresh_index
from gitnexus.projects.scoring import Scores, hierarchy_boost, jaccard_similarity
from tests.projects.conftest import World

API, LIB = "a" * 12, "b" * 12
NAMES = {API: "api", LIB: "lib"}


def filled(path: Path, **projects: list[IndexEntry]) -> Path:
    def fill(index: TaskIndex) -> None:
        with index.changing():
            for name, entries in projects.items():
                index.replace({"api": API, "lib": LIB}[name], f"content of {name}", "seen", entries, fold_text)

    with_index(path, fill)
    return path


ENTRIES = {
    "api": [
        IndexEntry("T1", "JWT login", "pending", labels=("auth", "jwt"), depends=("lib:T5", "T2")),
        IndexEntry("T2", "Database", "done", labels=("db",)),
        IndexEntry("T3", "Child", "pending", parent="T1", depends=(".:T2", "gone:T9")),
    ],
    "lib": [IndexEntry("T5", "JWT validation", "active", labels=("auth", "jwt"), files=("src/a.py",))],
}


def test_a_task_and_its_dependencies_are_looked_up(tmp_path: Path) -> None:
    path = filled(tmp_path / "i.sqlite", **ENTRIES)

    def look(index: TaskIndex) -> tuple[IndexRow | None, list[tuple[str, str, str]], list[str], list[str]]:
        row = index.task(API, "T1")
        assert row is not None
        two, five = index.task(API, "T2"), index.task(LIB, "T5")
        assert two is not None
        assert five is not None
        inside = [r.key for r in index.dependents(two, ["api"])]
        outside = [r.key for r in index.dependents(five, ["lib", "auth-lib"])]
        return row, index.depends(row), inside, outside

    row, depends, inside, outside = with_index(path, look)
    assert row is not None
    assert (row.title, row.labels, row.words) == ("JWT login", {"auth", "jwt"}, {"jwt", "login"})
    assert depends == [("lib", "T5", ""), ("", "T2", "")]
    assert sorted(inside) == [f"{API}:T1", f"{API}:T3"]
    assert outside == [f"{API}:T1"]


def test_a_fragment_replaces_the_one_before_and_nothing_of_it_stays(tmp_path: Path) -> None:
    path = filled(tmp_path / "i.sqlite", **ENTRIES)
    filled(path, api=[IndexEntry("T7", "Only this", "pending", labels=("new",))])

    counts = with_index(path, lambda index: dict(index.counts()))
    left = _content(path)[1]

    assert counts == {"project": 2, "task": 2, "edge": 0}
    assert left == [
        (0, "auth", [(f"{LIB}:T5", 2)]), (0, "jwt", [(f"{LIB}:T5", 2)]), (0, "new", [(f"{API}:T7", 1)]),
        (1, "jwt", [(f"{LIB}:T5", 2)]), (1, "validation", [(f"{LIB}:T5", 2)]), (2, "src/a.py", [(f"{LIB}:T5", 1)]),
    ]  # fmt: skip


def test_the_file_is_only_for_its_owner(tmp_path: Path) -> None:
    path = filled(tmp_path / "cache" / "i.sqlite", **ENTRIES)

    assert os.stat(path).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("harm", ["deleted", "emptied", "garbage", "cut", "other", "header"])
def test_a_broken_index_is_made_anew(tmp_path: Path, harm: str) -> None:
    path = filled(tmp_path / "i.sqlite", **ENTRIES)
    raw = path.read_bytes()
    match harm:
        case "deleted":
            path.unlink()
        case "emptied":
            path.write_bytes(b"")
        case "garbage":
            path.write_bytes(b"garbage" * 5000)
        case "cut":
            path.write_bytes(raw[: len(raw) // 2])
        case "header":
            path.write_bytes(raw[:100] + os.urandom(len(raw) - 100))
        case _:
            path.unlink()
            with sqlite3.connect(path) as other:
                other.execute("CREATE TABLE task (strange TEXT)")
            other.close()

    def use(index: TaskIndex) -> int:
        if not index.contents():
            with index.changing():
                index.replace(API, "c", "s", ENTRIES["api"], fold_text)
        row = index.task(API, "T1")
        assert row is not None
        return len(index.depends(row))

    assert with_index(path, use) == 2
    assert with_index(path, use) == 2


def _race(path: Path, number: int) -> None:
    for _ in range(5):
        filled(path, api=[IndexEntry(f"T{n}", f"from {number}", "pending") for n in range(1, 20)])


def test_many_processes_that_index_at_once_leave_one_whole_fragment(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    running = [multiprocessing.Process(target=_race, args=(path, number)) for number in range(6)]
    for process in running:
        process.start()
    for process in running:
        process.join()

    assert [process.exitcode for process in running] == [0] * 6
    titles = with_index(path, lambda index: {row.title for row in index.rows()})
    assert len(titles) == 1
    assert with_index(path, lambda index: index.counts()["task"]) == 19


some_words = st.lists(st.sampled_from(["jwt", "login", "db", "cache", "retry", "the", "of"]), max_size=5)
entries = st.lists(
    st.builds(
        lambda title, description, labels, files, parent: (title, description, labels, files, parent),
        some_words,
        some_words,
        st.lists(st.sampled_from(["auth", "db", "ui"]), max_size=3),
        st.lists(st.sampled_from(["a.py", "b.py"]), max_size=2),
        st.sampled_from([None, "T1", "T2"]),
    ),
    min_size=1,
    max_size=8,
)


def _entries(rows: list[tuple[list[str], list[str], list[str], list[str], str | None]]) -> list[IndexEntry]:
    return [
        IndexEntry(f"T{at}", " ".join(title) or "x", "pending", parent=parent if parent != f"T{at}" else None,
              description=" ".join(description), labels=tuple(labels), files=tuple(files))
        for at, (title, description, labels, files, parent) in enumerate(rows, 1)
    ]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries, entries, st.sampled_from(["auto", "labels", "description", "files", "hierarchy"]),
       st.sampled_from([0.0, 0.1, 0.15, 0.3, 0.5, 0.6, 0.7, 1.0]))  # fmt: skip
def test_discovery_finds_exactly_what_comparing_every_pair_finds(
    tmp_path_factory: pytest.TempPathFactory,
    api: list,
    lib: list,
    method: str,
    threshold: float,  # type: ignore[type-arg]
) -> None:
    path = filled(tmp_path_factory.mktemp("i") / "i.sqlite", api=_entries(api), lib=_entries(lib))

    def compare(index: TaskIndex) -> None:
        rows = list(index.rows())
        for source in rows:
            told = {
                (row["project"], row["id"])
                for row in find_related_tasks(index, source, RelatedQuery(method, threshold))
            }
            expected = set()
            for row in rows:
                marks = Scores(
                    jaccard_similarity(source.labels, row.labels),
                    jaccard_similarity(source.words, row.words),
                    jaccard_similarity(source.files, row.files),
                    hierarchy_boost(source.ancestors, row.ancestors, one_project=source.project == row.project),
                )
                if row.n != source.n and marks.by(method) > 0 and marks.by(method) >= threshold:
                    expected.add((row.project, row.id))
            assert told == expected

    with_index(path, compare)


def test_an_answer_is_kept_until_a_project_changes_and_filtered_when_it_is_read(tmp_path: Path) -> None:
    path = filled(tmp_path / "i.sqlite", **ENTRIES)

    def ask(index: TaskIndex) -> list[dict[str, object]]:
        source = index.task(API, "T1")
        assert source is not None
        return find_related_tasks(index, source, RelatedQuery())

    first = with_index(path, ask)
    kept = with_index(path, lambda index: index.answer(API, "T1", RelatedQuery().key))

    assert first == kept
    assert [row["ref"] for row in rank_answers(first, NAMES, lambda project: True, 20)] == ["lib:T5"]
    assert rank_answers(first, NAMES, lambda project: project == API, 20) == []
    assert rank_answers(first, {API: "api"}, lambda project: True, 20) == []
    filled(path, lib=[])
    assert with_index(path, lambda index: index.answer(API, "T1", RelatedQuery().key)) is None
    assert with_index(path, ask) == []
    assert with_index(path, lambda index: index.answer(API, "T1", RelatedQuery().key)) == []


def test_an_answer_says_score_method_reason_and_all_scores(tmp_path: Path) -> None:
    path = filled(tmp_path / "i.sqlite", **ENTRIES)

    def ask(index: TaskIndex) -> list[dict[str, object]]:
        source = index.task(API, "T1")
        assert source is not None
        return rank_answers(find_related_tasks(index, source, RelatedQuery()), NAMES, lambda project: True, 20)

    assert with_index(path, ask) == [
        {"taskId": f"{LIB}:T5", "ref": "lib:T5", "project": "lib", "title": "JWT validation", "status": "active",
         "score": 1.0, "method": "labels", "reason": "Shared labels: auth, jwt",
         "scores": {"labels": 1.0, "description": 0.33, "files": 0.0, "hierarchyBoost": 0.0}}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "refs"),
    [
        ("jwt", ["api:T1", "lib:T5"]),
        ("JWT val*", ["lib:T5"]),
        ("T5", ["lib:T5"]),
        ("größe", ["lib:T6"]),
        ("GROSSE", ["lib:T6"]),
        ("*ation", ["lib:T5"]),
        ("[x]", ["lib:T7"]),
        ("auth", ["api:T1", "lib:T5"]),
        ("nothing", []),
    ],
)
def test_search_finds_words_parts_and_ids_without_case_and_accents(tmp_path: Path, query: str, refs: list[str]) -> None:
    more = [IndexEntry("T6", "Die GRÖSSE der Größe", "pending"), IndexEntry("T7", "Fix [x] in list", "pending")]
    path = filled(tmp_path / "i.sqlite", api=ENTRIES["api"], lib=[*ENTRIES["lib"], *more])

    rows = with_index(path, lambda index: [row for _, row in find_tasks(index, query, TaskFilter(NAMES), 20)[0]])

    assert sorted(f"{NAMES[row.project]}:{row.id}" for row in rows) == refs


def test_a_whole_word_in_the_title_comes_before_a_part_in_the_description(tmp_path: Path) -> None:
    some = [IndexEntry("T1", "x", "pending", description="precached"), IndexEntry("T2", "Cache it", "pending"),
            IndexEntry("T3", "cached", "pending")]  # fmt: skip
    path = filled(tmp_path / "i.sqlite", api=some)

    rows = with_index(path, lambda index: [row.id for _, row in find_tasks(index, "cache", TaskFilter(NAMES), 20)[0]])

    assert rows == ["T2", "T3", "T1"]


def test_context_counts_the_words_of_ancestors_less(tmp_path: Path) -> None:
    some = [
        IndexEntry("T1", "billing invoices", "pending", type="epic"),
        IndexEntry("T2", "export", "pending", parent="T1"),
        IndexEntry("T3", "export invoices", "pending"),
    ]
    path = filled(tmp_path / "i.sqlite", api=some)

    def score(context: bool) -> float:
        def ask(index: TaskIndex) -> float:
            source = index.task(API, "T2")
            assert source is not None
            rows = find_related_tasks(index, source, RelatedQuery("description", 0.1, context))
            return next(float(row["score"]) for row in rows if row["id"] == "T3")

        return with_index(path, ask)

    assert score(False) == 0.5
    # export 1 and 1, invoices 0.5 and 1, billing 0.5 and 0
    assert score(True) == pytest.approx(1.5 / 2.5)


def test_keys_never_collide() -> None:
    keys = [RelatedQuery(m, t, c).key for m, t, c in itertools.product(["auto", "labels"], [0.1, 0.6], [True, False])]

    assert len(set(keys)) == len(keys)


def _content(path: Path) -> tuple[object, ...]:
    """Return all that an index holds, by ids rather than by its own numbers."""

    def look(index: TaskIndex) -> tuple[object, ...]:
        rows = {row.n: (row.key, row.title, row.ancestors, row.labels, row.files, row.words) for row in index.rows()}
        lists: dict[tuple[int, str], list[tuple[str, int]]] = {}
        for table in ("word", "fresh"):
            for kind, word, raw in index._db.execute(f"SELECT kind, word, tasks FROM {table}"):
                alive = [split_mark(mark) for mark in unpack_marks(raw) if split_mark(mark)[0] in rows]
                lists.setdefault((kind, word), []).extend((rows[n][0], size) for n, size in alive)
        found = sorted((*key, sorted(marks)) for key, marks in lists.items() if marks)
        return sorted(map(repr, rows.values())), found, sorted(index.edges())

    return with_index(path, look)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries, entries, st.sets(st.integers(1, 8)))
def test_a_fragment_that_was_changed_is_as_one_made_anew(
    tmp_path_factory: pytest.TempPathFactory,
    before: list,
    after: list,
    kept: set[int],  # type: ignore[type-arg]
) -> None:
    folder = tmp_path_factory.mktemp("i")
    old, new = _entries(before), _entries(after)
    new = [next((one for one in old if one.id == entry.id and int(entry.id[1:]) in kept), entry) for entry in new]
    changed, anew = filled(folder / "changed.sqlite", api=old), filled(folder / "anew.sqlite", api=new)
    gone = {entry.id for entry in old} - {entry.id for entry in new}

    def change(index: TaskIndex) -> None:
        with index.changing():
            index.update(API, "content", "seen", [entry for entry in new if entry not in old], gone, fold_text)

    with_index(changed, change)

    assert _content(changed) == _content(anew)


def test_lists_are_made_anew_when_much_was_noted_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_lists, "_BESIDE", 3)
    monkeypatch.setattr(word_lists, "_BESIDE_A_TASK", 0)
    path = filled(tmp_path / "i.sqlite", **ENTRIES)

    def tables() -> list[int]:
        names = ("word", "fresh")
        return with_index(path, lambda index: [len(index._db.execute(f"SELECT * FROM {n}").fetchall()) for n in names])

    filled(path, api=[IndexEntry("T7", "Only this", "pending", labels=("new",))])
    beside = tables()
    filled(path, api=[IndexEntry("T7", "Three telling words", "pending", labels=("new",))])

    assert beside == [9, 1]  # `only` and `this` are in everybody's tasks, and tell nothing
    assert tables() == [9, 0]  # those of lib's task, and of the new one
    assert _content(path) == _content(filled(tmp_path / "anew.sqlite", lib=ENTRIES["lib"], api=[
        IndexEntry("T7", "Three telling words", "pending", labels=("new",))]))  # fmt: skip


def test_a_folder_of_cleo_is_known_by_its_bytes_and_only_changed_tasks_are_put_in(world: World) -> None:
    place = world.cleo_project("old", T1="One", T2="Two")
    project, file = world.register(place), place / ".cleo" / "todo.json"
    path = world.root / "i.sqlite"

    def numbers() -> tuple[list[str], dict[str, int]]:
        return with_index(
            path, lambda index: (refresh_index(index, [project]), {row.title: row.n for row in index.rows()})
        )

    assert numbers() == (["old"], {"One": 1, "Two": 2})
    os.utime(file, (1, 1))
    assert numbers()[0] == []
    before = file.stat()
    file.write_text(file.read_text().replace("Two", "Six"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert numbers() == (["old"], {"One": 1, "Six": 3})
    assert numbers()[0] == []
