"""Asks a model through pydantic-ai: an agent without tools that answers with JSON; the HTTP request is ours."""

import json
from typing import TYPE_CHECKING, Any

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.prompts.chat import UnusableReply
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.model import prompt_schema
from gitnexus.prompts.openai_chat import chat_body
from gitnexus.prompts.own_loop import run_in_own_loop
from gitnexus.prompts.protocol import PromptQuestion, missing_library_error
from gitnexus.prompts.words import render_messages

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_FORM = "Answer with one JSON object that fits this JSON Schema, and with nothing else:\n{schema}"


class ViaPydanticAi:
    """pydantic-ai with its OpenAI client, over our own HTTP connection."""

    name = "pydantic-ai"

    def ask(self, question: PromptQuestion, connection: ModelConnection) -> Any:
        try:
            import pydantic_ai  # noqa: F401, I001 - with the other two 700 ms and more, and an extra: only who asks pays
            import httpx2  # noqa: F401
            import openai  # noqa: F401
        except ImportError as exc:
            raise missing_library_error("llm", "pydantic-ai") from exc
        schema = prompt_schema(question.function.output, question.function.name)
        form = _FORM.format(schema=json.dumps(schema))
        turns = render_messages(question.files, question.function, question.args, form)
        return run_in_own_loop(lambda: _ask_agent(question.function.name, schema, turns, connection))


async def _ask_agent(
    name: str, schema: dict[str, Any], turns: list[dict[str, str]], connection: ModelConnection
) -> Any:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent, PromptedOutput, StructuredDict
    from pydantic_ai.exceptions import AgentRunError
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider

    trouble: list[NexusError] = []
    system = "\n\n".join(one["content"] for one in turns if one["role"] == "system")
    asked = "\n\n".join(one["content"] for one in turns if one["role"] == "user")
    async with _make_http_client(connection, trouble) as http:
        client = AsyncOpenAI(base_url="http://unused", api_key="unused", http_client=http, max_retries=0)
        # Servers differ in which response_format they take; the prompt says it, and the answer is checked.
        profile = OpenAIModelProfile(supports_json_object_output=False)
        model = OpenAIChatModel("unused", provider=OpenAIProvider(openai_client=client), profile=profile)
        answer = PromptedOutput(StructuredDict(schema, name=name), template=False)
        agent = Agent(model, output_type=answer, instructions=system, retries=0)
        try:
            return (await agent.run(asked)).output
        except AgentRunError as exc:
            if trouble:
                raise trouble[0] from exc
            why = exc.__cause__ or exc
            raise UnusableReply(
                f"it does not have the form: {one_line(' '.join(str(why).split()), 400)}", connection.said
            ) from exc


def _make_http_client(connection: ModelConnection, trouble: list[NexusError]) -> "AsyncClient":
    """Return an HTTP client that sends everything through our own connection."""
    import httpx2

    class Over(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            body = json.loads(await request.aread())
            try:
                raw = chat_body(connection.ask(body["messages"]))
            except NexusError as exc:
                trouble.append(exc)
                return httpx2.Response(400, json={"error": {"message": "see the connection"}})
            return httpx2.Response(200, content=raw, headers={"Content-Type": "application/json"})

    return httpx2.AsyncClient(transport=Over(), trust_env=False)
