"""What a typed text means."""

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.tui.slash import (
    COMMANDS,
    ChatCommand,
    LocalCommand,
    PlainRequest,
    TaggedMessage,
    chat_help_text,
    parse_chat_input,
)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("", None),
        ("  \n ", None),
        ("fix the parser", PlainRequest("fix the parser")),
        ("two\nlines", PlainRequest("two\nlines")),
        ("//etc is a folder", PlainRequest("/etc is a folder")),
        ("[m] remember this", TaggedMessage("[m] remember this")),
        ("first\n[d] decide that", TaggedMessage("first\n[d] decide that")),
        ("/m remember this", TaggedMessage("[m] remember this")),
        ("/d use tabs", TaggedMessage("[d] use tabs")),
        ("/rule never push", TaggedMessage("[rule] never push")),
        ("/rule", ChatCommand(("rule", "list"))),
        ("/plan", ChatCommand(("plan", "show"))),
        ("/plan decide 1 yes", ChatCommand(("plan", "decide", "1", "yes"))),
        ("/plan the release", TaggedMessage("[plan] the release")),
        ("/tasks", ChatCommand(("task", "list"))),
        ("/tasks --ready", ChatCommand(("task", "list", "--ready"))),
        ("/tasks add 'a b'", ChatCommand(("task", "add", "a b"))),
        ("/memory", ChatCommand(("memory", "list"))),
        ("/memory show x", ChatCommand(("memory", "show", "x"))),
        ("/memory how we deploy", ChatCommand(("memory", "search", "how we deploy"))),
        ("/policy", ChatCommand(("policy", "show"))),
        ("/policy explain -- git push", ChatCommand(("policy", "explain", "--", "git", "push"))),
        ("/agents", ChatCommand(("agents",))),
        ("/runs --all", ChatCommand(("runs", "--all"))),
        ("/land", ChatCommand(("land",), about_run=True)),
        ("/replay r1", ChatCommand(("replay", "r1"), about_run=True)),
        ("/diff", ChatCommand(("diff",), about_run=True)),
        ("/trace on", LocalCommand("trace", ("on",), "on")),
        ("/mode autopilot", LocalCommand("mode", ("autopilot",), "autopilot")),
        ("/run -- sh -c 'echo a b'", LocalCommand("run", ("--", "sh", "-c", "echo a b"), "-- sh -c 'echo a b'")),
        ("/deny it's wrong", LocalCommand("deny", ("it's", "wrong"), "it's wrong")),
        ("/research how it works", PlainRequest("/research how it works")),
        ("/quit", LocalCommand("quit", (), "")),
    ],
)
def test_a_text_means_one_thing(text: str, intent: object) -> None:
    assert parse_chat_input(text, ["research"]) == intent


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("/revew", "did you mean /review?"),
        ("/xyzzy", "/help lists them; // begins a text that begins with a slash"),
        ("/m", "/m TEXT"),
        ("/run 'open", None),
    ],
)
def test_what_is_no_command_is_told_with_a_way_out(text: str, hint: str | None) -> None:
    with pytest.raises(Invalid) as refused:
        parse_chat_input(text)

    assert refused.value.hint == hint


def test_help_names_every_command_of_the_contract() -> None:
    wanted = "plan run tasks memory m rule d policy mode trace review land replay resume diff agents help export quit"

    assert set(wanted.split()) <= {one.name for one in COMMANDS}
    assert all(f"/{name}" in chat_help_text("") for name in wanted.split())
