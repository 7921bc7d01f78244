"""Scores of related tasks, as they were settled."""

import pytest

from gitnexus.projects.scoring import Scores, hierarchy_boost, jaccard_similarity, similarity_by_weight, telling_words


def test_words_are_lower_case_ascii_without_stop_words() -> None:
    assert telling_words("The JWT-validation", "Prüfung of JWT, v2!") == {"jwt", "validation", "pr", "fung", "v2"}


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [({"a"}, {"a"}, 1.0), ({"a", "b"}, {"b", "c"}, 1 / 3), (set(), set(), 0.0), ({"a"}, set(), 0.0)],
)
def test_jaccard_is_the_shared_part_of_both(one: set[str], other: set[str], score: float) -> None:
    assert jaccard_similarity(one, other) == score


def test_words_of_ancestors_count_less() -> None:
    assert similarity_by_weight({"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 1.0}) == 0.75
    assert similarity_by_weight({}, {}) == 0.0


@pytest.mark.parametrize(
    ("mine", "theirs", "one_project", "more"),
    [
        (("T1",), ("T1",), True, 0.15),
        (("T1",), ("T1",), False, 0.0),
        (("T2", "T1"), ("T3", "T1"), True, 0.08),
        (("T2", "T1"), ("T2", "T1"), True, 0.15),
        ((), (), True, 0.0),
        (("T1",), ("T2",), True, 0.0),
    ],
)
def test_a_shared_parent_adds_something_within_one_project(
    mine: tuple[str, ...], theirs: tuple[str, ...], one_project: bool, more: float
) -> None:
    assert hierarchy_boost(mine, theirs, one_project=one_project) == more


def test_auto_is_the_best_base_and_the_boost_and_never_above_one() -> None:
    assert Scores(0.5, 0.7, 0.1, 0.15).by("auto") == pytest.approx(0.85)
    assert Scores(1.0, 0.0, 0.0, 0.15).by("auto") == 1.0
    assert Scores(0.5, 0.5, 0.5).best_base() == "labels"
    assert Scores(0.1, 0.5, 0.5).best_base() == "description"
    assert Scores(boost=0.08).by("hierarchy") == 0.08
