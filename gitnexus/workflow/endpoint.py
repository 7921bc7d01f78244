"""Sends one question to a small model over HTTP and returns the text of its answer, limited in time and size."""

import re
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import one_line
from gitnexus.prompts.address import is_loopback_url
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.http import post_json
from gitnexus.prompts.settings import ModelEndpoint
from gitnexus.workflow.settings import RouterSettings, router_key

LARGEST = 256 * 1024
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


def ask_router_model(router: RouterSettings, system: str, question: str, schema: dict[str, Any]) -> Any:
    """Return the JSON value that the model answered. Raises: Failed, with the reason, for anything else."""
    key = router_key(router)
    if not (key.isascii() and key.isprintable()):  # the error of a header would show it
        raise Failed(f"{router.key_env} holds no key")
    raw = post_json(
        router.url.rstrip("/") + ("/api/chat" if router.kind == "ollama" else "/chat/completions"),
        _request_body(router, system, question, schema),
        key=key,
        seconds=router.seconds,
        largest=LARGEST,
        is_loopback=is_loopback_url(router.url),
    )
    try:
        return _parse_chat_content(router.kind, raw)
    except Invalid as exc:
        raise Failed(f"the answer is {one_line(exc.message, 200)}") from exc


def ask_model_to_route(endpoint: ModelEndpoint, system: str, question: str) -> Any:
    """Return the JSON value that a model of the settings answered. Raises: Failed, with the reason."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    try:
        return _parse_text(ModelConnection(endpoint).ask(messages))
    except Invalid as exc:
        raise Failed(f"the answer is {one_line(exc.message, 200)}") from exc


def _request_body(router: RouterSettings, system: str, question: str, schema: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    common = {"model": router.model, "messages": messages, "stream": False}
    if router.kind == "ollama":
        return {**common, "format": schema, "options": {"temperature": 0}}
    # json_schema and not json_object: some servers refuse the second, none that we know of the first.
    form = {"type": "json_schema", "json_schema": {"name": "route", "strict": True, "schema": schema}}
    return {**common, "temperature": 0, "response_format": form}


def _parse_chat_content(kind: str, raw: bytes) -> Any:
    """Return the value in the text that the model wrote."""
    value = parse_json(raw)
    try:
        message = value["message"] if kind == "ollama" else value["choices"][0]["message"]
        text = message["content"]
    except (KeyError, IndexError, TypeError) as exc:
        raise Failed("the answer is not that of a chat") from exc
    if not isinstance(text, str):
        raise Failed("the answer is not that of a chat")
    return _parse_text(text)


def _parse_text(text: str) -> Any:
    """Return the JSON value in an answer: the whole of it, else the object that stands among words."""
    body = _without_wrapping(text)
    try:
        return parse_json(body.encode("utf-8", "surrogatepass"))
    except Invalid:
        inside = body[body.find("{") : body.rfind("}") + 1]
        if not inside or inside == body:
            raise
        return parse_json(inside.encode("utf-8", "surrogatepass"))


def _without_wrapping(text: str) -> str:
    """Return an answer without the thoughts before it and the fence around it; what else it holds stays."""
    body = _THOUGHT.sub("", text, count=1).strip()
    fenced = _FENCED.fullmatch(body)
    return fenced[1] if fenced else body
