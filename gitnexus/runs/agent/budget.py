"""Computes what an agent may still spend, and checks its reported usage against that. Pure."""

from typing import NamedTuple, Protocol

from gitnexus.adapters.protocol import AgentEnd
from gitnexus.base.errors import Failed

_MILLION = 1_000_000


class Allowance(Protocol):
    """The budget of a run or node; 0 means no limit."""

    @property
    def tokens(self) -> int: ...

    @property
    def cents(self) -> int: ...


class SpendingLimit(NamedTuple):
    """A budget and the amount already spent; money in millionths of a dollar."""

    tokens: int = 0
    money: int = 0
    tokens_gone: int = 0
    money_gone: int = 0

    def over(self, tokens: int, money: int) -> str:
        """Return why this exceeds the budget on top of what is spent, "" if it does not."""
        tokens, money = self.tokens_gone + tokens, self.money_gone + money
        if self.tokens and tokens > self.tokens:
            return f"{tokens:,} tokens of {self.tokens:,} are used up"
        if self.money and money > self.money:
            return f"{money / _MILLION:.2f} USD of {self.money / _MILLION:.2f} are used up"
        return ""


class OverBudget(Failed):
    """Raised when an agent exceeds its budget and is stopped."""


def limit_from_budget(budget: Allowance, tokens_gone: int = 0, money_gone: int = 0) -> SpendingLimit:
    """Return a spending limit for a budget and the amount already spent."""
    return SpendingLimit(budget.tokens, budget.cents * 10_000, tokens_gone, money_gone)


def why_over_budget(budgets: tuple[SpendingLimit, ...], tokens: int, usd: float | None) -> str:
    """Return why one of the limits is exceeded, "" if none is."""
    money = int((usd or 0.0) * _MILLION)
    return next(filter(None, (one.over(tokens, money) for one in budgets)), "")


def usd_left(budgets: tuple[SpendingLimit, ...]) -> float | None:
    """Return the remaining money in dollars, None without a limit."""
    return min((max(0, one.money - one.money_gone) / _MILLION for one in budgets if one.money), default=None)


def ended_over_budget(ended: AgentEnd, why: str) -> AgentEnd:
    """Return the end of an agent that exceeded its budget: its work is kept, but it counts as failed."""
    return ended.changed(ok=False, reason="limit", message=why)
