"""Posts one JSON body to a model server and returns the raw answer, limited in time and size."""

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line

_LONGEST_WAIT = 30.0
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "git-nexus"}


class RetryLater(Failed):
    """The server may succeed later; `after` is the number of seconds that it asked to wait."""

    def __init__(self, message: str, after: float = 0) -> None:
        super().__init__(message)
        self.after = min(max(after, 0), _LONGEST_WAIT)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a prompt and a key are sent only to the configured address."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def post_json(url: str, body: dict[str, Any], *, key: str, seconds: float, largest: int, is_loopback: bool) -> bytes:
    """Return the bytes that the server answered; `key` is sent as a bearer token. Raises: RetryLater, Failed."""
    box: list[bytes | BaseException] = []

    def post() -> None:
        try:
            box.append(_post_body(url, json.dumps(body).encode(), key, seconds, largest, is_loopback))
        except (OSError, http.client.HTTPException, Failed, ValueError) as exc:
            box.append(exc)

    # A time limit on the socket is for each read: a server that sends a byte a second would keep us for hours.
    worker = threading.Thread(target=post, daemon=True)
    worker.start()
    worker.join(seconds)
    answer = box[0] if box else TimeoutError()
    if isinstance(getattr(answer, "reason", answer), TimeoutError):
        raise RetryLater(f"the model did not answer in {seconds} s")
    if isinstance(answer, BaseException):
        raise _error_in_words(answer) from answer
    return answer


def _post_body(url: str, body: bytes, key: str, seconds: float, largest: int, is_loopback: bool) -> bytes:
    headers = {**_HEADERS, "Authorization": f"Bearer {key}"} if key else _HEADERS
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - http(s), as the settings were checked
    # A proxy of the environment is for the world outside; this machine needs none.
    proxies = [urllib.request.ProxyHandler({})] if is_loopback else []
    opener = urllib.request.build_opener(_NoRedirects(), *proxies)
    with opener.open(request, timeout=seconds) as response:
        raw: bytes = response.read(largest + 1)
        left = response.length
    if len(raw) > largest:
        limit = f"{largest // 2**20} MiB" if largest >= 2**20 else f"{largest // 2**10} KiB"
        raise Failed(f"the model's answer is larger than {limit}")
    if left:  # half an answer may be a whole JSON value, and mean something else
        raise RetryLater(f"the answer broke off, {left} bytes before its end")
    return raw


def _error_in_words(exc: BaseException) -> Failed:
    if isinstance(exc, Failed):
        return exc
    if isinstance(exc, urllib.error.HTTPError):
        return _error_for_status(exc)
    if isinstance(exc, http.client.HTTPException):
        return RetryLater(f"the answer broke off ({type(exc).__name__})")
    reason = getattr(exc, "reason", None) or exc
    return RetryLater(f"the model cannot be reached: {one_line(str(reason), 200)}")


def _error_for_status(exc: urllib.error.HTTPError) -> Failed:
    with exc:
        after = exc.headers.get("Retry-After", "")
    seconds = float(after) if after.isdecimal() and len(after) < 6 else 0.0
    if exc.code == 429:
        return RetryLater("the model is asked too often (429)", seconds)
    if exc.code in (408, 409, 425) or exc.code >= 500:
        return RetryLater(f"the model's server answered {exc.code}", seconds)
    if exc.code in (401, 403):
        return Failed(f"the model's server does not accept this key ({exc.code})", hint="see keyEnv in the settings")
    return Failed(f"the model's server answered {exc.code}", hint="see url and model in the settings")
