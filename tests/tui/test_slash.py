"""What a typed text means."""

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.tui.slash import COMMANDS, Command, Local, Prompt, Tagged, help_text, meant


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("", None),
        ("  \n ", None),
        ("fix the parser", Prompt("fix the parser")),
        ("two\nlines", Prompt("two\nlines")),
        ("//etc is a folder", Prompt("/etc is a folder")),
        ("[m] remember this", Tagged("[m] remember this")),
        ("first\n[d] decide that", Tagged("first\n[d] decide that")),
        ("/m remember this", Tagged("[m] remember this")),
        ("/d use tabs", Tagged("[d] use tabs")),
        ("/rule never push", Tagged("[rule] never push")),
        ("/rule", Command(("rule", "list"))),
        ("/plan", Command(("plan", "show"))),
        ("/plan decide 1 yes", Command(("plan", "decide", "1", "yes"))),
        ("/plan the release", Tagged("[plan] the release")),
        ("/tasks", Command(("task", "list"))),
        ("/tasks --ready", Command(("task", "list", "--ready"))),
        ("/tasks add 'a b'", Command(("task", "add", "a b"))),
        ("/memory", Command(("memory", "list"))),
        ("/memory show x", Command(("memory", "show", "x"))),
        ("/memory how we deploy", Command(("memory", "search", "how we deploy"))),
        ("/policy", Command(("policy", "show"))),
        ("/policy explain -- git push", Command(("policy", "explain", "--", "git", "push"))),
        ("/agents", Command(("agents",))),
        ("/runs --all", Command(("runs", "--all"))),
        ("/land", Command(("land",), about_run=True)),
        ("/replay r1", Command(("replay", "r1"), about_run=True)),
        ("/diff", Command(("diff",), about_run=True)),
        ("/trace on", Local("trace", ("on",), "on")),
        ("/mode autopilot", Local("mode", ("autopilot",), "autopilot")),
        ("/run -- sh -c 'echo a b'", Local("run", ("--", "sh", "-c", "echo a b"), "-- sh -c 'echo a b'")),
        ("/deny it's wrong", Local("deny", ("it's", "wrong"), "it's wrong")),
        ("/research how it works", Prompt("/research how it works")),
        ("/quit", Local("quit", (), "")),
    ],
)
def test_a_text_means_one_thing(text: str, intent: object) -> None:
    assert meant(text, ["research"]) == intent


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
        meant(text)

    assert refused.value.hint == hint


def test_help_names_every_command_of_the_contract() -> None:
    wanted = "plan run tasks memory m rule d policy mode trace review land replay resume diff agents help export quit"

    assert set(wanted.split()) <= {one.name for one in COMMANDS}
    assert all(f"/{name}" in help_text("") for name in wanted.split())
