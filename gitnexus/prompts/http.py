"""Posts one JSON body to a model server and returns the raw answer, whole or as it comes, limited in time and size."""

import http.client
import json
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.redaction.hide import mask

_LONGEST_WAIT = 30.0
_PIECE = 64 * 1024
_LARGEST_ERROR = 4096
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "git-nexus"}
_MESSAGE = re.compile(r'"(?:message|error)"\s*:\s*"((?:[^"\\]|\\.){1,400})"')


class RetryLater(Failed):
    """The server may succeed later; `after` is the number of seconds that it asked to wait, `said` its own reason."""

    def __init__(self, message: str, after: float = 0, said: str = "") -> None:
        super().__init__(message)
        self.after = min(max(after, 0), _LONGEST_WAIT)
        self.said = said


class RefusedRequest(Failed):
    """The server refuses the request as it is; `said` is its own reason."""

    def __init__(self, message: str, hint: str, status: int, said: str) -> None:
        super().__init__(message, hint=hint)
        self.status, self.said = status, said


class ModelRequest(NamedTuple):
    """One request: the address, the JSON body, the headers of its own, and the limits of its answer."""

    url: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    seconds: float
    largest: int
    is_loopback: bool


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a prompt and a key are sent only to the configured address."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def post_json(url: str, body: dict[str, Any], *, key: str, seconds: float, largest: int, is_loopback: bool) -> bytes:
    """Return the bytes that the server answered; `key` is sent as a bearer token. Raises: RetryLater, Failed."""
    request = ModelRequest(url, body, bearer_header(key), seconds, largest, is_loopback)
    return b"".join(stream_answer(request))


def bearer_header(key: str) -> dict[str, str]:
    """Return the header that carries a key, none without one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def stream_answer(request: ModelRequest) -> Iterator[bytes]:
    """Yield the answer of a server in pieces, as they come. Raises: RetryLater, RefusedRequest, Failed.

    `request.seconds` is for the whole answer: a server that sends a byte a second would keep us for hours.
    """
    pieces: queue.SimpleQueue[bytes | BaseException | None] = queue.SimpleQueue()
    over = threading.Event()

    def read() -> None:
        try:
            for piece in _read_pieces(request):
                if over.is_set():
                    return
                pieces.put(piece)
            pieces.put(None)
        except (OSError, http.client.HTTPException, Failed, ValueError) as exc:
            pieces.put(exc)

    threading.Thread(target=read, daemon=True).start()
    until = time.monotonic() + request.seconds
    try:
        while True:
            try:
                piece = pieces.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                piece = TimeoutError()
            if piece is None:
                return
            if isinstance(getattr(piece, "reason", piece), TimeoutError):
                raise RetryLater(f"the model did not answer in {request.seconds} s")
            if isinstance(piece, BaseException):
                raise _error_in_words(piece) from piece
            yield piece
    finally:
        over.set()


def _read_pieces(request: ModelRequest) -> Iterator[bytes]:
    made = urllib.request.Request(  # noqa: S310 - http(s), as the settings were checked
        request.url, json.dumps(request.body).encode(), {**_HEADERS, **request.headers}
    )
    # A proxy of the environment is for the world outside; this machine needs none.
    proxies = [urllib.request.ProxyHandler({})] if request.is_loopback else []
    opener = urllib.request.build_opener(_NoRedirects(), *proxies)
    size = 0
    try:
        with opener.open(made, timeout=request.seconds) as response:
            while piece := response.read1(_PIECE):
                size += len(piece)
                if size > request.largest:
                    raise Failed(f"the model's answer is larger than {_describe_size(request.largest)}")
                yield piece
            left = response.length
    except urllib.error.HTTPError as exc:
        raise _error_for_status(exc) from exc
    if left:  # half an answer may be a whole JSON value, and mean something else
        raise RetryLater(f"the answer broke off, {left} bytes before its end")


def _describe_size(largest: int) -> str:
    return f"{largest // 2**20} MiB" if largest >= 2**20 else f"{largest // 2**10} KiB"


def _error_in_words(exc: BaseException) -> Failed:
    if isinstance(exc, Failed):
        return exc
    if isinstance(exc, http.client.HTTPException):
        return RetryLater(f"the answer broke off ({type(exc).__name__})")
    if isinstance(exc, ConnectionError) and not isinstance(exc, urllib.error.URLError | ConnectionRefusedError):
        return RetryLater("the answer broke off, the connection was closed")
    reason = getattr(exc, "reason", None) or exc
    return RetryLater(f"the model cannot be reached: {one_line(str(reason), 200)}")


def _error_for_status(exc: urllib.error.HTTPError) -> Failed:
    with exc:
        after = exc.headers.get("Retry-After", "")
        try:
            said = exc.read(_LARGEST_ERROR).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            said = ""
    seconds = float(after) if after.isdecimal() and len(after) < 6 else 0.0
    if exc.code == 429:
        return RetryLater("the model is asked too often (429)", seconds)
    if exc.code in (401, 403):
        hint = "see keyEnv in the settings"
        return RefusedRequest(f"the model's server does not accept this key ({exc.code})", hint, exc.code, "")
    found = _MESSAGE.search(said)
    why = f": {one_line(mask(found[1]), 200)}" if found else ""
    if exc.code in (408, 409, 425) or exc.code >= 500:
        return RetryLater(f"the model's server answered {exc.code}{why}", seconds, said)
    hint = "see url and model in the settings"
    return RefusedRequest(f"the model's server answered {exc.code}{why}", hint, exc.code, said)
