"""Speaks the interfaces of Anthropic and Gemini through pydantic-ai; the HTTP request is ours, and so is the key."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gitnexus import __version__
from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.text import one_line
from gitnexus.prompts.chat import LARGEST, ChatQuestion, ChatReply, Hear, ModelToolCall
from gitnexus.prompts.http import ModelRequest, RetryLater, stream_answer
from gitnexus.prompts.openai_chat import BROKE_OFF, parse_arguments
from gitnexus.prompts.own_loop import run_in_own_loop
from gitnexus.prompts.settings import ModelEndpoint

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model

EXTRA = "models"
# By interface: the library below pydantic-ai, and the header of the key.
_LIBRARIES = {"anthropic": ("anthropic", "x-api-key"), "gemini": ("google.genai", "x-goog-api-key")}
# Of what a library would send along, only what its provider needs.
_HEADERS = ("anthropic-version", "anthropic-beta")
_GEMINI_API = "v1beta"
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/-]{0,199}")
# Anthropic wants to be told, and what the library would say is too short for a patch.
_MAX_TOKENS = 16_384


def missing_library(interface: str) -> str:
    """Return the library that an interface needs and that is not installed, "" if none is missing."""
    if interface not in _LIBRARIES:
        return ""
    for name in ("pydantic_ai", *_LIBRARIES[interface][:1]):
        try:
            if find_spec(name) is None:
                return name
        except ModuleNotFoundError:
            return name
    return ""


def install_command() -> str:
    """Return the command that installs the libraries."""
    return f"pip install 'git-nexus[{EXTRA}]=={__version__}'"


def require_library(interface: str) -> None:
    """Raise an error if a library that an interface needs is not installed. Raises: Failed."""
    if missing := missing_library(interface):
        install = install_command()
        raise Failed(f"{missing} is not installed, which speaks with {interface}", hint=install, fix=install)


class LibraryChat:
    """A server of Anthropic, or of Gemini."""

    def __init__(self, endpoint: ModelEndpoint, key: str) -> None:
        require_library(endpoint.interface)
        # It becomes part of the address, and a workflow of somebody else's may name it.
        if not _MODEL.fullmatch(endpoint.model) or ".." in endpoint.model:
            raise Failed(f"{one_line(endpoint.model, 60)!r} is no name of a model of {endpoint.interface}")
        self._endpoint, self._key = endpoint, key

    def ask(self, question: ChatQuestion, hear: Hear | None) -> ChatReply:
        """Return the model's next answer. Raises: RetryLater, RefusedRequest, Failed."""
        return run_in_own_loop(lambda: self._ask(question, hear))

    async def _ask(self, question: ChatQuestion, hear: Hear | None) -> ChatReply:
        # 2 to 5 s, and an extra: only who asks pays.
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError
        from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.settings import ModelSettings
        from pydantic_ai.tools import ToolDefinition

        tools = [
            ToolDefinition(name=one.name, description=one.about, parameters_json_schema=dict(one.schema))
            for one in question.tools
        ]
        settings = ModelSettings(max_tokens=self._endpoint.max_tokens or _MAX_TOKENS)
        if tools and not question.may_call:
            settings["tool_choice"] = "none"
        trouble: list[NexusError] = []
        async with _make_http_client(self._endpoint, self._key, question.seconds, trouble) as http:
            try:
                async with model_request_stream(
                    _make_model(self._endpoint, http),
                    _messages(question),
                    model_settings=settings,
                    model_request_parameters=ModelRequestParameters(function_tools=tools),
                ) as stream:
                    async for event in stream:
                        text = ""
                        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                            text = event.part.content
                        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                            text = event.delta.content_delta
                        if text and hear is not None:
                            hear(text)
                    response = stream.get()
            except (AgentRunError, ValueError) as exc:
                if trouble:
                    raise trouble[0] from exc
                raise RetryLater(
                    f"what the server sent is not the answer of a chat: {one_line(str(exc), 200)}"
                ) from exc
        if trouble:
            raise trouble[0]
        return _reply_of_response(response)


def _make_model(endpoint: ModelEndpoint, http: "AsyncClient") -> "Model[Any]":
    """Return the library's model for an endpoint; it knows no key."""
    url = endpoint.url.rstrip("/").removesuffix("/v1").removesuffix("/v1beta")
    if endpoint.interface == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = AsyncAnthropic(base_url=url, api_key="unused", http_client=http, max_retries=0)
        return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client))
    from google.genai import Client
    from google.genai.types import HttpOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    # Releases of pydantic-ai differ in the version of the API that they choose; tools are documented for this one.
    options = HttpOptions(base_url=url, api_version=_GEMINI_API, httpx_async_client=http)
    gemini = Client(vertexai=False, api_key="unused", http_options=options)
    return GoogleModel(endpoint.model, provider=GoogleProvider(client=gemini))


def _messages(question: ChatQuestion) -> "list[ModelMessage]":
    from pydantic_ai.messages import ModelRequest as Request
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart

    parts = [
        SystemPromptPart(one["content"]) if one["role"] == "system" else UserPromptPart(one["content"])
        for one in question.messages
    ]
    found: list[ModelMessage] = [Request(parts=parts)]
    for turn in question.turns:
        found.append(turn.reply.native)
        results = [
            ToolReturnPart(tool_name=call.name, content=result.text, tool_call_id=call.id)
            for call, result in zip(turn.reply.calls, turn.results, strict=True)
        ]
        found.append(Request(parts=results))
    return found


def _reply_of_response(response: "ModelResponse") -> ChatReply:
    from pydantic_ai.messages import TextPart, ToolCallPart

    if response.finish_reason is None:
        raise RetryLater(BROKE_OFF)
    calls = tuple(
        ModelToolCall(part.tool_call_id, part.tool_name, parse_arguments(part.args))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    usage = response.usage
    known = bool(usage.input_tokens or usage.output_tokens)
    return ChatReply(
        "".join(part.content for part in response.parts if isinstance(part, TextPart)),
        calls,
        response.finish_reason,
        tokens_in=usage.input_tokens if known else None,
        tokens_out=usage.output_tokens if known else None,
        native=response,
    )


def _make_http_client(endpoint: ModelEndpoint, key: str, seconds: float, trouble: list[NexusError]) -> "AsyncClient":
    """Return an HTTP client that sends everything by our own request, with our own headers."""
    import httpx2

    class Pieces(httpx2.AsyncByteStream):
        def __init__(self, first: bytes, rest: Iterator[bytes]) -> None:
            self._first, self._rest = first, rest

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield self._first
            try:
                for piece in self._rest:  # the loop is ours alone: whoever waits holds up nobody
                    yield piece
            except NexusError as exc:
                trouble.append(exc)
                raise httpx2.ReadError("see the trouble") from exc

    class Over(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
            headers |= {_LIBRARIES[endpoint.interface][1]: key} if key else {}
            body = json.loads(await request.aread())
            pieces = stream_answer(
                ModelRequest(str(request.url), body, headers, seconds, LARGEST, endpoint.is_loopback)
            )
            try:
                first = next(pieces, b"")
            except NexusError as exc:
                trouble.append(exc)
                return httpx2.Response(400, json={"error": {"message": "see the trouble"}})
            return httpx2.Response(
                200, headers={"Content-Type": "text/event-stream"}, stream=Pieces(first, pieces), request=request
            )

    return httpx2.AsyncClient(transport=Over(), trust_env=False, timeout=max(seconds, 10))
