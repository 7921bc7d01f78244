"""What an agent may spend: the run's budget and its node's, of which the narrower holds."""

import pytest

from gitnexus.runs.agent.budget import SpendingLimit, limit_from_budget, usd_left, why_over_budget
from gitnexus.workflow.definition import NodeBudget
from gitnexus.workflow.run_definition import RunBudgets


@pytest.mark.parametrize(
    ("purses", "tokens", "usd", "why"),
    [
        ((), 10**9, 1e6, ""),
        ((SpendingLimit(),), 10**9, 1e6, ""),
        ((SpendingLimit(tokens=100),), 100, None, ""),
        ((SpendingLimit(tokens=100),), 101, None, "101 tokens of 100 are used up"),
        ((SpendingLimit(tokens=100, tokens_gone=60),), 41, None, "101 tokens of 100 are used up"),
        ((SpendingLimit(money=2_000_000),), 0, 2.0, ""),
        ((SpendingLimit(money=2_000_000, money_gone=1_500_000),), 0, 0.75, "2.25 USD of 2.00 are used up"),
        ((SpendingLimit(tokens=9_000), SpendingLimit(tokens=1_000)), 1_500, None, "1,500 tokens of 1,000 are used up"),
        (
            (SpendingLimit(tokens=9_000, tokens_gone=8_900), SpendingLimit(tokens=1_000)),
            150,
            0.0,
            "9,050 tokens of 9,000 are used up",
        ),
    ],
)
def test_who_takes_more_than_one_purse_holds_is_told_which(
    purses: tuple[SpendingLimit, ...], tokens: int, usd: float | None, why: str
) -> None:
    assert why_over_budget(purses, tokens, usd) == why


def test_the_money_that_is_left_is_that_of_the_narrowest() -> None:
    run, node = limit_from_budget(RunBudgets(cents=300), 0, 1_000_000), limit_from_budget(NodeBudget(cents=150))

    assert (usd_left((run, node)), usd_left((run,)), usd_left((limit_from_budget(RunBudgets()),))) == (1.5, 2.0, None)
    assert usd_left((limit_from_budget(RunBudgets(cents=100), 0, 5_000_000),)) == 0.0
