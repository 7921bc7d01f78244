"""Each interface that is spoken, against a server that speaks it well or badly: streams, tools, and a clear end."""

import json
import time
from typing import Any, get_args

import pytest

from gitnexus.base.errors import Failed
from gitnexus.prompts.chat import ChatQuestion, ChatReply, ChatTurn, ModelToolCall, ToolOffer, ToolResult
from gitnexus.prompts.clients import chat_client
from gitnexus.prompts.http import RefusedRequest, RetryLater
from gitnexus.prompts.settings import Interface, ModelEndpoint
from tests.prompts.stub import Stub, calling, served

MESSAGES = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "Where is it?"}]
_FIELDS = {"path": {"type": "string"}, "limit": {"type": ["integer", "string"]}}
_SCHEMA = {"type": "object", "additionalProperties": False, "required": ["path"], "properties": _FIELDS}
READ = ToolOffer("read", "Read a file.", _SCHEMA)
PATHS = {
    "openai": "/v1/chat/completions",
    "ollama": "/api/chat",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
}
KEYS = {
    "openai": ("authorization", "Bearer "),
    "ollama": ("authorization", "Bearer "),
    "anthropic": ("x-api-key", ""),
    "gemini": ("x-goog-api-key", ""),
}


# Importing the libraries of these two takes seconds.
_SLOW = ("anthropic", "gemini")


@pytest.fixture(params=[pytest.param(one, marks=[pytest.mark.slow] * (one in _SLOW)) for one in get_args(Interface)])
def speaks(request: pytest.FixtureRequest) -> Interface:
    found: Interface = request.param
    return found


def ask(stub: Stub, heard: list[str] | None = None, turns: Any = (), tools: Any = (READ,), **given: Any) -> ChatReply:
    seconds, may_call = given.pop("seconds", 20), given.pop("may_call", True)
    endpoint = ModelEndpoint(url=stub.url, model="m", interface=stub.speaks, **given)  # type: ignore[arg-type]
    heard = [] if heard is None else heard
    return chat_client(endpoint).ask(ChatQuestion(MESSAGES, turns, tools, may_call, seconds), heard.append)


def test_an_answer_is_heard_in_pieces_and_comes_out_whole(speaks: Interface) -> None:
    heard: list[str] = []
    with served("text:It stands in a.py, Grüße 🎉.", speaks=speaks) as stub:
        reply = ask(stub, heard)

    assert reply.text == "".join(heard) == "It stands in a.py, Grüße 🎉."
    assert len(heard) > 3
    assert (reply.calls, reply.tokens_in, reply.tokens_out) == ((), 100, 20)
    assert stub.paths == [PATHS[speaks]]


def test_a_call_of_a_tool_goes_out_and_its_result_comes_back(speaks: Interface) -> None:
    calls = calling(("read", {"path": "a.py"}), ("read", {"path": "b.py", "limit": 3}), text="I look.")
    with served(calls, "text:It is there.", speaks=speaks) as stub:
        first = ask(stub)
        second = ask(stub, turns=[ChatTurn(first, (ToolResult("one = 1"), ToolResult("not done: no", ok=False)))])

    assert [(one.name, one.arguments) for one in first.calls] == [
        ("read", {"path": "a.py"}),
        ("read", {"path": "b.py", "limit": 3}),
    ]
    assert first.text == "I look."
    assert second.text == "It is there."
    asked = json.dumps(stub.asked[1])
    assert "one = 1" in asked
    assert "not done: no" in asked
    assert "b.py" in asked
    assert "Read a file." in asked


def test_after_the_last_call_tools_may_not_be_called(speaks: Interface) -> None:
    with served("text:ok", speaks=speaks) as stub:
        ask(stub, may_call=False)

    asked = stub.asked[0]
    said = {
        "openai": asked.get("tool_choice"),
        "ollama": asked.get("tools", "none"),
        "anthropic": asked.get("tool_choice", {}),
        "gemini": asked.get("toolConfig", {}),
    }[speaks]
    assert "none" in json.dumps(said).lower()


def test_the_key_goes_into_its_header_and_nothing_else_of_this_machine_is_sent(
    speaks: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "key-of-the-machine")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MY_KEY", "key-of-settings")
    with served("text:ok", speaks=speaks) as stub:
        ask(stub, key_env="MY_KEY")
        ask(stub)

    name, before = KEYS[speaks]
    assert [one.get(name) for one in stub.headers] == [f"{before}key-of-settings", None]
    assert not any("key-of-the-machine" in json.dumps([one, body]) for one in stub.headers for body in stub.asked)
    assert not any("stainless" in name or "goog-api-client" in name for one in stub.headers for name in one)


@pytest.mark.parametrize(
    ("manner", "words"),
    [
        ("status:429", "the model is asked too often (429)"),
        ("status:500", "the model's server answered 500"),
        ("cut:It stands in the file a.py, or in the file b.py.", ""),
        ("half", "the answer broke off"),
        ("garbage", "the answer broke off"),
        ("nothing", ""),
    ],
)
def test_a_server_in_trouble_may_be_asked_again(speaks: Interface, manner: str, words: str) -> None:
    with served(manner, speaks=speaks) as stub, pytest.raises(RetryLater) as refused:
        ask(stub)

    assert refused.value.message.startswith(words)
    assert refused.value.after == (7 if manner.startswith("status") else 0)
    assert len(stub.asked) == 1


@pytest.mark.parametrize(
    ("manner", "words"),
    [
        ("status:401", "the model's server does not accept this key (401)"),
        ("redirect", "the model's server answered 307"),
        ("refuses:m does not support tools", "the model's server answered 400: m does not support tools"),
    ],
)
def test_a_server_that_refuses_is_not_asked_again(speaks: Interface, manner: str, words: str) -> None:
    with served(manner, speaks=speaks) as stub, pytest.raises(RefusedRequest) as refused:
        ask(stub)

    assert refused.value.message == words
    assert len(stub.asked) == 1


def test_ten_megabytes_are_not_read(speaks: Interface) -> None:
    heard: list[str] = []
    with served("flood:10", speaks=speaks) as stub, pytest.raises(Failed) as refused:
        ask(stub, heard)

    assert refused.value.message == "the model's answer is larger than 2 MiB"
    assert sum(map(len, heard)) <= 2 * 2**20


@pytest.mark.parametrize("manner", ["silent", pytest.param("drip", marks=pytest.mark.slow)])
def test_a_slow_server_is_given_up_in_time(speaks: Interface, manner: str) -> None:
    with served("text:ok", manner, speaks=speaks) as stub:
        ask(stub)  # whatever is imported is imported
        began = time.monotonic()
        with pytest.raises(RetryLater) as refused:
            ask(stub, seconds=1)

    assert refused.value.message == "the model did not answer in 1 s"
    assert time.monotonic() - began < 8


def test_a_server_that_does_not_stream_is_heard_at_the_end() -> None:
    heard: list[str] = []
    with served("plain:It is there.") as stub:
        reply = ask(stub, heard)

    assert reply.text == "It is there."
    assert heard == ["It is there."]


def test_a_server_that_refuses_to_stream_is_asked_without() -> None:
    with served("refuses:stream_options is not supported", "plain:ok") as stub:
        reply = ask(stub)

    assert reply.text == "ok"
    assert [one["stream"] for one in stub.asked] == [True, False]


def test_what_a_server_adds_to_a_call_is_sent_back() -> None:
    call = ModelToolCall("c0", "read", {"path": "a"})
    native = {"role": "assistant", "content": "", "tool_calls": [{"id": "c0", "extra_content": {"signature": "s"}}]}
    with served("text:ok") as stub:
        ask(stub, turns=[ChatTurn(ChatReply("", (call,), native=native), (ToolResult("x"),))])

    assert stub.asked[0]["messages"][2] == native


@pytest.mark.slow
@pytest.mark.parametrize("interface", _SLOW)
@pytest.mark.parametrize("name", ["../../v1/files?x=", "m/../../x", "m?key=1", "m#x", "", "//evil.example/m"])
def test_the_name_of_a_model_leads_to_no_other_address(interface: Interface, name: str) -> None:
    with served("text:ok", speaks=interface) as stub, pytest.raises(Failed, match="is no name of a model"):
        chat_client(ModelEndpoint(url=stub.url, model=name, interface=interface))

    assert stub.asked == []


@pytest.mark.parametrize("is_heard", [True, False])
def test_thoughts_that_a_server_wants_back_are_sent_with_the_calls(is_heard: bool) -> None:
    calls = {**calling(("read", {"path": "a.py"})), "message": {"reasoning_content": "It may be in a.py."}}
    question = ChatQuestion(MESSAGES, (), (READ,))
    with served(calls, "text:ok") as stub:
        client = chat_client(ModelEndpoint(url=stub.url, model="m"))
        first = client.ask(question, (lambda text: None) if is_heard else None)
        client.ask(ChatQuestion(MESSAGES, (ChatTurn(first, (ToolResult("x"),)),), (READ,)), None)

    assert stub.asked[1]["messages"][2]["reasoning_content"] == "It may be in a.py."


def test_ollama_is_told_how_much_the_model_reads() -> None:
    with served("text:ok", speaks="ollama") as stub:
        ask(stub)
        ask(stub, context_tokens=8192, max_tokens=100)

    assert [one["options"] for one in stub.asked] == [{"num_ctx": 32768}, {"num_ctx": 8192, "num_predict": 100}]
