"""One HTTP request to a model's server, bounded in time and size, for both ways of asking; and what it used."""

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import one_line
from gitnexus.prompts.settings import Endpoint

LARGEST = 2 * 2**20
_LONGEST_WAIT = 30.0


class Unfit(Failed):
    """The model answered, and the answer cannot be used: told to the model, who may mend it. `said` is its text."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


class Later(Failed):
    """The server may do better in a moment; `after` is how many seconds it asked for."""

    def __init__(self, message: str, after: float = 0) -> None:
        super().__init__(message)
        self.after = min(max(after, 0), _LONGEST_WAIT)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A prompt and a key go where the settings say and nowhere else."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


class Wire:
    """A server, and the tokens that it says were used; None as long as it never said."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.said = ""
        self._key = endpoint.key()

    def ask(self, messages: list[dict[str, Any]]) -> bytes:
        """Return the whole body of an answer that holds a text. Raises: Unfit, Later, Failed."""
        self.said = ""
        raw = self._in_time(json.dumps({"model": self.endpoint.model, "messages": messages, "stream": False}).encode())
        self.said = self._heard(raw)
        return raw

    def _in_time(self, body: bytes) -> bytes:
        box: list[bytes | BaseException] = []

        def work() -> None:
            try:
                box.append(self._posted(body))
            except (OSError, http.client.HTTPException, Failed, ValueError) as exc:
                box.append(exc)

        # A time limit on the socket is for each read: a server that sends a byte a second would keep us for hours.
        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        worker.join(self.endpoint.seconds)
        found = box[0] if box else TimeoutError()
        if isinstance(getattr(found, "reason", found), TimeoutError):
            raise Later(f"the model did not answer in {self.endpoint.seconds} s")
        if isinstance(found, BaseException):
            raise _in_words(found) from found
        return found

    def _posted(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "git-nexus"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        url = f"{self.endpoint.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(url, body, headers)  # noqa: S310 - http(s), as was checked
        # A proxy of the environment is for the world outside; this machine needs none.
        proxies = [urllib.request.ProxyHandler({})] if self.endpoint.is_loopback else []
        opener = urllib.request.build_opener(_NoRedirects(), *proxies)
        with opener.open(request, timeout=self.endpoint.seconds) as response:
            raw: bytes = response.read(LARGEST + 1)
            left = response.length
        if len(raw) > LARGEST:
            raise Failed(f"the model's answer is larger than {LARGEST // 2**20} MiB")
        if left:  # half an answer may be a whole JSON value, and mean something else
            raise Later(f"the answer broke off, {left} bytes before its end")
        return raw

    def _heard(self, raw: bytes) -> str:
        """Return the text that the model wrote, and count what it used."""
        try:
            value = parse(raw)
            choice = value["choices"][0]
            message = choice["message"]
        except (Invalid, KeyError, IndexError, TypeError) as exc:
            raise Later("what the server sent is not the answer of a chat") from exc
        self._count(value.get("usage"))
        if isinstance(message, dict) and (refusal := message.get("refusal")):
            raise Failed(f"the model refuses: {one_line(str(refusal), 200)}")
        text = message.get("content") if isinstance(message, dict) else None
        ended = choice.get("finish_reason")
        if ended == "content_filter":
            raise Failed("the model refuses: its server filtered the answer")
        if not isinstance(text, str) or not text.strip():
            raise Unfit("it is empty")
        if ended == "length" or is_unfinished(text):
            raise Unfit("it breaks off before its end; answer shorter", text)
        return text

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            given = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
            counts = [one if type(one) is int and 0 <= one <= 10**9 else 0 for one in given]
            self.tokens_in = (self.tokens_in or 0) + counts[0]
            self.tokens_out = (self.tokens_out or 0) + counts[1]


def is_unfinished(text: str) -> bool:
    """True if an object is opened and not closed. Lenient readers close it themselves, and lose its end in silence."""
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


def _in_words(exc: BaseException) -> Failed:
    if isinstance(exc, Failed):
        return exc
    if isinstance(exc, urllib.error.HTTPError):
        return _status(exc)
    if isinstance(exc, http.client.HTTPException):
        return Later(f"the answer broke off ({type(exc).__name__})")
    reason = getattr(exc, "reason", None) or exc
    return Later(f"the model cannot be reached: {one_line(str(reason), 200)}")


def _status(exc: urllib.error.HTTPError) -> Failed:
    with exc:
        after = exc.headers.get("Retry-After", "")
    seconds = float(after) if after.isdecimal() and len(after) < 6 else 0.0
    if exc.code == 429:
        return Later("the model is asked too often (429)", seconds)
    if exc.code in (408, 409, 425) or exc.code >= 500:
        return Later(f"the model's server answered {exc.code}", seconds)
    if exc.code in (401, 403):
        return Failed(f"the model's server takes no such key ({exc.code})", hint="see keyEnv in the settings")
    return Failed(f"the model's server answered {exc.code}", hint="see url and model in the settings")
