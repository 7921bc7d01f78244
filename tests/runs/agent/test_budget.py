"""What an agent may spend: the run's budget and its node's, of which the narrower holds."""

import pytest

from gitnexus.app.purse import Purse, over, purse, usd_left
from gitnexus.runs.definition import Budgets
from gitnexus.workflow.definition import NodeBudget


@pytest.mark.parametrize(
    ("purses", "tokens", "usd", "why"),
    [
        ((), 10**9, 1e6, ""),
        ((Purse(),), 10**9, 1e6, ""),
        ((Purse(tokens=100),), 100, None, ""),
        ((Purse(tokens=100),), 101, None, "101 tokens of 100 are used up"),
        ((Purse(tokens=100, tokens_gone=60),), 41, None, "101 tokens of 100 are used up"),
        ((Purse(money=2_000_000),), 0, 2.0, ""),
        ((Purse(money=2_000_000, money_gone=1_500_000),), 0, 0.75, "2.25 USD of 2.00 are used up"),
        ((Purse(tokens=9_000), Purse(tokens=1_000)), 1_500, None, "1,500 tokens of 1,000 are used up"),
        ((Purse(tokens=9_000, tokens_gone=8_900), Purse(tokens=1_000)), 150, 0.0, "9,050 tokens of 9,000 are used up"),
    ],
)
def test_who_takes_more_than_one_purse_holds_is_told_which(
    purses: tuple[Purse, ...], tokens: int, usd: float | None, why: str
) -> None:
    assert over(purses, tokens, usd) == why


def test_the_money_that_is_left_is_that_of_the_narrowest() -> None:
    run, node = purse(Budgets(cents=300), 0, 1_000_000), purse(NodeBudget(cents=150))

    assert (usd_left((run, node)), usd_left((run,)), usd_left((purse(Budgets()),))) == (1.5, 2.0, None)
    assert usd_left((purse(Budgets(cents=100), 0, 5_000_000),)) == 0.0
