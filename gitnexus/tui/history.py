"""The input history, newest last, and moving through it with the arrow keys. Pure."""

from dataclasses import dataclass, replace

MOST = 500


@dataclass(frozen=True, slots=True)
class InputHistory:
    """`at` is where somebody looks; past the end stands what they were typing."""

    past: tuple[str, ...] = ()
    at: int = 0
    draft: str = ""

    @classmethod
    def of(cls, past: tuple[str, ...]) -> "InputHistory":
        """Return a history that nobody has walked through yet."""
        kept = past[-MOST:]
        return cls(kept, len(kept))

    def added(self, text: str) -> "InputHistory":
        """Return it with one more; the same text twice in a row stands once."""
        past = self.past if self.past[-1:] == (text,) else (*self.past, text)
        return InputHistory.of(past)

    def step_back(self, now: str) -> "tuple[InputHistory, str | None]":
        """Return where one comes to by going back, and the text there; None at the beginning."""
        if self.at == 0:
            return self, None
        draft = now if self.at == len(self.past) else self.draft
        return replace(self, at=self.at - 1, draft=draft), self.past[self.at - 1]

    def step_forward(self) -> "tuple[InputHistory, str | None]":
        """Return where one comes to by going on, and the text there; None at the end."""
        if self.at >= len(self.past):
            return self, None
        at = self.at + 1
        return replace(self, at=at), self.draft if at == len(self.past) else self.past[at]
