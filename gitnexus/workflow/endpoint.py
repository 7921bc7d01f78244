"""One question to a small model over HTTP, and the text of its answer: bounded in time and size, whatever it does."""

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import one_line
from gitnexus.workflow.settings import RouterSettings, is_loopback, key_of

LARGEST = 256 * 1024


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A prompt and a key go where the settings say and nowhere else."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def answered(router: RouterSettings, system: str, question: str, schema: dict[str, Any]) -> Any:
    """Return the JSON value that the model answered. Raises: Failed, in words, for whatever else happens."""
    box: list[Any] = []

    def ask() -> None:
        try:
            box.append(_content(router.kind, _posted(router, _body(router, system, question, schema))))
        except (OSError, http.client.HTTPException, Failed, Invalid, ValueError) as exc:
            box.append(exc)

    # A time limit on the socket is for each read: a server that sends a byte a second would keep us for hours.
    worker = threading.Thread(target=ask, daemon=True)
    worker.start()
    worker.join(router.seconds)
    if not box or _timed_out(box[0]):
        raise Failed(f"the model did not answer in {router.seconds} s")
    if isinstance(box[0], BaseException):
        raise Failed(_in_words(box[0])) from box[0]
    return box[0]


def _body(router: RouterSettings, system: str, question: str, schema: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    common = {"model": router.model, "messages": messages, "stream": False}
    if router.kind == "ollama":
        return {**common, "format": schema, "options": {"temperature": 0}}
    # json_schema and not json_object: some servers refuse the second, none that we know of the first.
    form = {"type": "json_schema", "json_schema": {"name": "route", "strict": True, "schema": schema}}
    return {**common, "temperature": 0, "response_format": form}


def _posted(router: RouterSettings, body: dict[str, Any]) -> bytes:
    path = "/api/chat" if router.kind == "ollama" else "/chat/completions"
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key := key_of(router):
        if not (key.isascii() and key.isprintable()):  # the error of a header would show it
            raise Failed(f"{router.key_env} holds no key")
        headers["Authorization"] = f"Bearer {key}"
    url = router.url.rstrip("/") + path
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - http(s), as was checked
    # A proxy of the environment is for the world outside; this machine needs none.
    proxies = [urllib.request.ProxyHandler({})] if is_loopback(router.url) else []
    opener = urllib.request.build_opener(_NoRedirects(), *proxies)
    with opener.open(request, timeout=router.seconds) as response:
        raw: bytes = response.read(LARGEST + 1)
        left = response.length
    if len(raw) > LARGEST:
        raise Failed(f"the model's answer is larger than {LARGEST // 1024} KiB")
    if left:  # half an answer may be a whole JSON value, and mean something else
        raise Failed(f"the answer broke off, {left} bytes before its end")
    return raw


def _content(kind: str, raw: bytes) -> Any:
    """Return the value in the text that the model wrote."""
    value = parse(raw)
    try:
        message = value["message"] if kind == "ollama" else value["choices"][0]["message"]
        text = message["content"]
    except (KeyError, IndexError, TypeError) as exc:
        raise Failed("the answer is not that of a chat") from exc
    if not isinstance(text, str):
        raise Failed("the answer is not that of a chat")
    return parse(text.encode("utf-8", "surrogatepass"))


def _timed_out(found: Any) -> bool:
    return isinstance(found, TimeoutError) or isinstance(getattr(found, "reason", None), TimeoutError)


def _in_words(exc: BaseException) -> str:
    if isinstance(exc, urllib.error.HTTPError):
        exc.close()
        return "the model is asked too often (429)" if exc.code == 429 else f"the model's server answered {exc.code}"
    if isinstance(exc, http.client.HTTPException):
        return f"the answer broke off ({type(exc).__name__})"
    if isinstance(exc, Invalid):
        return f"the answer is {one_line(exc.message, 200)}"
    if isinstance(exc, Failed):
        return exc.message
    reason = getattr(exc, "reason", None) or exc
    return f"the model cannot be reached: {one_line(str(reason), 200)}"
