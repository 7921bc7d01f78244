"""Attacks on the names of runs, by their numbers: a name becomes a ref and a file, so only we make names."""

import subprocess
from datetime import UTC, datetime

import pytest

from gitnexus.base.errors import NotFound
from gitnexus.runs.ids import is_run_id, match_run_id, new_run_id, run_branch_ref

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("../../x", id="155-traversal"),
        pytest.param("-x", id="155-option"),
        pytest.param("a..b", id="155-range"),
        pytest.param("HEAD", id="155-head"),
        pytest.param("refs/heads/x.lock", id="155-lock"),
        pytest.param("x" * 300, id="155-long"),
        pytest.param("\N{ROCKET}", id="155-emoji"),
        pytest.param("260102-0304-bcdf\n", id="155-newline"),
        pytest.param("260102-0304-bcdf/../x", id="155-id-and-more"),
        pytest.param("\u0662\u0666\u0660\u0661\u0660\u0662-0304-bcdf", id="155-other-digits"),
        pytest.param("", id="155-empty"),
    ],
)
def test_a_word_of_an_agent_is_never_the_name_of_a_run(word: str) -> None:
    assert not is_run_id(word)
    with pytest.raises(NotFound):
        match_run_id(word, [new_run_id(NOW)])


def test_155_git_takes_every_name_that_we_make() -> None:
    names: list[str] = []
    for _ in range(50):
        names.append(new_run_id(NOW, names))

    assert len(set(names)) == 50
    assert all(map(is_run_id, names))
    for name in names[:5]:
        subprocess.run(["git", "check-ref-format", run_branch_ref(name)], check=True)
