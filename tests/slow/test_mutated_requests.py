"""Ten thousand requests that were changed after somebody approved them, and some that a rule may or may not allow."""

from pathlib import Path

import pytest

from gitnexus.gateway import commanding
from gitnexus.gateway.tool_context import ToolContext
from tests.gateway.test_mutated_requests import CONTENT, attack_a_rule, attack_with_a_token, lines_that_do_not_matter
from tests.seeds import chance_of

pytestmark = pytest.mark.slow


@pytest.fixture
def one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git is asked once which commit a worktree is at: none is made here, and asking is most of what a call takes.

    tests/gateway/test_mutated_requests.py asks each time.
    """
    commits: dict[Path, str] = {}
    ask = commanding.worktree_head

    def base_of(bench: ToolContext) -> str:
        if bench.worktree not in commits:
            commits[bench.worktree] = ask(bench)
        return commits[bench.worktree]

    monkeypatch.setattr(commanding, "worktree_head", base_of)


@pytest.mark.usefixtures("one_commit")
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_changed_requests_are_not_executed(tmp_path: Path, part: int) -> None:
    unchanged, refused = attack_with_a_token(tmp_path, 1000, chance_of(part))

    assert unchanged + refused == 1000
    assert refused > 500


@pytest.mark.usefixtures("one_commit")
@pytest.mark.parametrize("part", range(2))
def test_two_thousand_requests_against_a_rule_with_a_slot(tmp_path: Path, part: int) -> None:
    executed, refused = attack_a_rule(tmp_path, 1000, chance_of(part))

    assert executed + refused == 1000
    assert executed > 0


def test_every_byte_of_a_diff_that_is_another_is_refused_unless_the_result_is_the_same(tmp_path: Path) -> None:
    assert not lines_that_do_not_matter(tmp_path, 1) & CONTENT
