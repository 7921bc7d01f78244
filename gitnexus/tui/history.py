"""The input history, newest last, and moving through it with the arrow keys. Pure."""

from dataclasses import dataclass, replace

MOST = 500


@dataclass(frozen=True, slots=True)
class InputHistory:
    """`at` is the selected entry; past the end is the unfinished input."""

    past: tuple[str, ...] = ()
    at: int = 0
    draft: str = ""

    @classmethod
    def of(cls, past: tuple[str, ...]) -> "InputHistory":
        """Return a history with no entry selected."""
        kept = past[-MOST:]
        return cls(kept, len(kept))

    def added(self, text: str) -> "InputHistory":
        """Return the history with one more entry; equal neighbours are stored once."""
        past = self.past if self.past[-1:] == (text,) else (*self.past, text)
        return InputHistory.of(past)

    def step_back(self, now: str) -> "tuple[InputHistory, str | None]":
        """Return the history with the previous entry selected, and its text; None at the beginning."""
        if self.at == 0:
            return self, None
        draft = now if self.at == len(self.past) else self.draft
        return replace(self, at=self.at - 1, draft=draft), self.past[self.at - 1]

    def step_forward(self) -> "tuple[InputHistory, str | None]":
        """Return the history with the next entry selected, and its text; None at the end."""
        if self.at >= len(self.past):
            return self, None
        at = self.at + 1
        return replace(self, at=at), self.draft if at == len(self.past) else self.past[at]
