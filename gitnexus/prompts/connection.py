"""Asks a model server one question and returns its answer, counting the tokens that the server says were used."""

from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import one_line
from gitnexus.prompts.http import RetryLater, post_json
from gitnexus.prompts.settings import ModelEndpoint

LARGEST = 2 * 2**20


class UnusableReply(Failed):
    """The model's answer cannot be used. The model gets the reason and may correct it; `said` is its text."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


class ModelConnection:
    """A server, and the token counts that it reported; None as long as it reported none."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self.endpoint = endpoint
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.said = ""
        self._key = endpoint.key()

    def ask(self, messages: list[dict[str, Any]]) -> bytes:
        """Return the whole body of an answer that contains a text. Raises: UnusableReply, RetryLater, Failed."""
        self.said = ""
        raw = post_json(
            f"{self.endpoint.url.rstrip('/')}/chat/completions",
            {"model": self.endpoint.model, "messages": messages, "stream": False},
            key=self._key,
            seconds=self.endpoint.seconds,
            largest=LARGEST,
            is_loopback=self.endpoint.is_loopback,
        )
        self.said = self._text_of_answer(raw)
        return raw

    def _text_of_answer(self, raw: bytes) -> str:
        """Return the text that the model wrote, and add up its token usage."""
        try:
            value = parse_json(raw)
            choice = value["choices"][0]
            message = choice["message"]
        except (Invalid, KeyError, IndexError, TypeError) as exc:
            raise RetryLater("what the server sent is not the answer of a chat") from exc
        self._count_tokens(value.get("usage"))
        if isinstance(message, dict) and (refusal := message.get("refusal")):
            raise Failed(f"the model refuses: {one_line(str(refusal), 200)}")
        text = message.get("content") if isinstance(message, dict) else None
        ended = choice.get("finish_reason")
        if ended == "content_filter":
            raise Failed("the model refuses: its server filtered the answer")
        if not isinstance(text, str) or not text.strip():
            raise UnusableReply("it is empty")
        if ended == "length" or is_unfinished_json(text):
            raise UnusableReply("it breaks off before its end; answer shorter", text)
        return text

    def _count_tokens(self, usage: Any) -> None:
        if isinstance(usage, dict):
            given = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
            counts = [one if type(one) is int and 0 <= one <= 10**9 else 0 for one in given]
            self.tokens_in = (self.tokens_in or 0) + counts[0]
            self.tokens_out = (self.tokens_out or 0) + counts[1]


def is_unfinished_json(text: str) -> bool:
    """Return True if an object is opened and not closed. Lenient parsers close it silently and lose its end."""
    depth, quoted, escaped = 0, False, False
    for ch in text[max(text.find("{"), 0) :]:
        if escaped:
            escaped = False
        elif quoted:
            escaped, quoted = ch == "\\", ch != '"'
        elif ch == '"':
            quoted = depth > 0
        elif ch in "{[":
            depth += 1
        elif ch in "}]":
            depth -= 1
            if depth <= 0:
                return False
    return depth > 0
