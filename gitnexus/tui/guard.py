"""Decides whether a key may answer a card: not Enter, not part of a paste, not typed before the card appeared. Pure.

A terminal with bracketed paste reports pastes; others send them as keys, faster than anyone types. So an answer only
counts if nothing was typed right before it and nothing follows right after.
"""

from dataclasses import dataclass, replace

# A card is looked at before it is answered.
SEEN = 0.35
# For so long nothing may come before an answer, and nothing follow it.
QUIET = 0.15


@dataclass(frozen=True, slots=True)
class KeyGuard:
    """The keys pressed for the card in view. Times are seconds of one clock; `pending` waits to be accepted."""

    card: str = ""
    since: float = 0.0
    last: float = float("-inf")
    pending: str = ""
    refused: str = ""

    def looking_at_card(self, card: str, now: float) -> "KeyGuard":
        """Return the guard after a card came into view or was replaced by another one."""
        return self if card == self.card else KeyGuard(card, now, self.last)

    def after_key_press(self, letter: str, now: float) -> "KeyGuard":
        """Return the guard after a key; `pending` is accepted after a pause, `refused` says why no key is."""
        if now - self.last < QUIET:
            return replace(
                self, last=now, pending="", refused="that came as fast as a paste, so it does not count as an answer"
            )
        if now - self.since < SEEN:
            return replace(self, last=now, pending="", refused="the card has only just come up; look at it first")
        return replace(self, last=now, pending=letter, refused="")

    def key_to_take(self, now: float) -> str:
        """Return the key that may be accepted now, empty if none may."""
        return self.pending if self.pending and now - self.last >= QUIET else ""

    def taken(self) -> "KeyGuard":
        """Return the guard after its key was accepted."""
        return replace(self, pending="")
