"""What an agent may still spend: budgets less what is gone of them, held against its own account while it works."""

from typing import NamedTuple, Protocol

from gitnexus.adapters.protocol import Ended
from gitnexus.base.errors import Failed

_MILLION = 1_000_000


class Allowance(Protocol):
    """A budget of a run or of a node; 0 is no limit."""

    @property
    def tokens(self) -> int: ...

    @property
    def cents(self) -> int: ...


class Purse(NamedTuple):
    """One budget, and what is gone of it; money in millionths of a dollar."""

    tokens: int = 0
    money: int = 0
    tokens_gone: int = 0
    money_gone: int = 0

    def over(self, tokens: int, money: int) -> str:
        """Return why that is too much on top of what is gone, nothing if it is not."""
        tokens, money = self.tokens_gone + tokens, self.money_gone + money
        if self.tokens and tokens > self.tokens:
            return f"{tokens:,} tokens of {self.tokens:,} are used up"
        if self.money and money > self.money:
            return f"{money / _MILLION:.2f} USD of {self.money / _MILLION:.2f} are used up"
        return ""


class OverBudget(Failed):
    """An agent took more than it was given, and is ended."""


def purse(budget: Allowance, tokens_gone: int = 0, money_gone: int = 0) -> Purse:
    """Return a purse with a budget, of which so much is gone."""
    return Purse(budget.tokens, budget.cents * 10_000, tokens_gone, money_gone)


def over(purses: tuple[Purse, ...], tokens: int, usd: float | None) -> str:
    """Return why one of the purses cannot pay that, nothing if all can."""
    money = int((usd or 0.0) * _MILLION)
    return next(filter(None, (one.over(tokens, money) for one in purses)), "")


def usd_left(purses: tuple[Purse, ...]) -> float | None:
    """Return the money that is left, None for no limit."""
    return min((max(0, one.money - one.money_gone) / _MILLION for one in purses if one.money), default=None)


def cut_short(ended: Ended, why: str) -> Ended:
    """Return the end of an agent that took more than it was given: its work is looked at, but it did not succeed."""
    return ended.changed(ok=False, reason="limit", message=why)
