"""Whatever a file holds: ours comes in without touching it, and goes without a trace."""

import json
import tomllib

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.harness.install.edits import EditedText, apply_pieces, text_digest, undo_insertions
from gitnexus.harness.install.jsontext import parse_json_text
from gitnexus.harness.install.model import Append, Block, HeldFile, Kind, Piece, Put, Whole
from gitnexus.harness.install.signature import blank_signature, is_unchanged_own_file, with_signature
from tests.harness.documents import ENDINGS, MARKDOWN, TOML, jsonc

# A machine that is busy draws slowly; how long it takes is not what is tested.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
HOOK = {"hooks": [{"type": "command", "command": "git nexus hook harness codex pre_tool_use || exit 2"}]}
JSON_PIECES: tuple[Piece, ...] = (
    Put(("mcpServers", "nexus"), {"command": "git", "args": ["nexus", "mcp"]}),
    Append(("hooks", "PreToolUse"), HOOK),
    Append(("hooks", "SessionStart"), HOOK),
)
TABLE = Block('[mcp_servers.nexus]\ncommand = "git"', ("mcp_servers", "nexus"))


def held(kind: Kind, old: str | None, done: EditedText) -> HeldFile:
    return HeldFile(
        path="f",
        kind=kind,
        owners=("codex",),
        before=text_digest(old),
        after=text_digest(done.text) or "",
        inserted=tuple(tuple(one) for one in done.inserted),
        puts=tuple(done.puts),
        appends=tuple(done.appends),
        made=tuple(done.made),
    )


def value(text: str) -> object:
    node = parse_json_text(text, "f")
    return None if node is None else node.value


@CALM
@given(jsonc())
def test_what_goes_into_json_is_what_was_meant_and_comes_out_to_the_byte(document: tuple[str, object]) -> None:
    text, before = document
    assert value(text) == before

    done = apply_pieces("f", text, "json", JSON_PIECES)

    after = value(done.text)
    assert isinstance(after, dict)
    assert after["mcpServers"]["nexus"] == {"command": "git", "args": ["nexus", "mcp"]}
    assert after["hooks"]["PreToolUse"][-1] == HOOK
    assert undo_insertions("f", held("json", text, done), done.text) == (text, None)


@CALM
@given(jsonc(), st.booleans())
def test_what_somebody_wrote_into_json_meanwhile_stays_and_ours_goes(document: tuple[str, object], first: bool) -> None:
    text, before = document
    done = apply_pieces("f", text, "json", JSON_PIECES)
    theirs: tuple[Piece, ...] = (
        Put(("mcpServers", "third"), {"x": 1}),
        Append(("hooks", "PreToolUse"), {"theirs": True}),
        Put(("zzz",), [1]),
    )
    now = apply_pieces("f", done.text, "json", theirs).text
    if first:  # as an editor would that sorts, or writes all of it anew
        now = json.dumps(value(now), indent=1)

    rest, word = undo_insertions("f", held("json", text, done), now)

    assert word is None
    assert rest is not None
    assert before is not None
    wanted = json.loads(json.dumps(before))
    wanted.setdefault("mcpServers", {})["third"] = {"x": 1}
    wanted.setdefault("hooks", {}).setdefault("PreToolUse", []).append({"theirs": True})
    assert value(rest) == {**wanted, "zzz": [1]}


@CALM
@given(jsonc())
def test_comments_survive_where_a_file_was_changed_meanwhile(document: tuple[str, object]) -> None:
    text, _ = document
    done = apply_pieces("f", text, "json", JSON_PIECES)
    now = apply_pieces("f", done.text, "json", (Put(("zzz",), 1),)).text

    rest, _ = undo_insertions("f", held("json", text, done), now)

    assert rest is not None
    assert rest.count("/* c } */") == text.count("/* c } */")
    assert rest.count("// c {") == text.count("// c {")


@CALM
@given(MARKDOWN, ENDINGS, st.booleans())
def test_a_block_in_markdown_comes_out_to_the_byte_also_beside_new_lines(
    lines: list[str], ending: str, whole: bool
) -> None:
    text = ending.join(lines) + (ending if whole else "")
    done = apply_pieces("f", text, "markdown", (Block("## git nexus\n\nlook\n"),))
    assert text in done.text

    assert undo_insertions("f", held("markdown", text, done), done.text) == (text, None)
    assert undo_insertions("f", held("markdown", text, done), f"new{ending}{done.text}") == (f"new{ending}{text}", None)


@CALM
@given(TOML, ENDINGS, st.booleans())
def test_a_table_in_toml_comes_out_to_the_byte(lines: list[str], ending: str, whole: bool) -> None:
    text = ending.join(lines) + (ending if whole else "")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)

    done = apply_pieces("f", text, "toml", (TABLE,))

    assert tomllib.loads(done.text)["mcp_servers"] == {"nexus": {"command": "git"}}
    assert undo_insertions("f", held("toml", text, done), done.text) == (text, None)
    changed = f"{done.text}{ending}[theirs]{ending}x = 1{ending}"
    rest, _ = undo_insertions("f", held("toml", text, done), changed)
    assert rest is not None
    assert tomllib.loads(rest) == {**tomllib.loads(text), "theirs": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "f is not JSON: line 3, column 3: ',' or '}' is missing"),
        ("{'a': 1}", "f is not JSON: line 1, column 2: a key in double quotes is missing"),
        ('{"a": }', "f is not JSON: line 1, column 7: a value is missing"),
        ('{"a": 1} x', "f is not JSON: line 1, column 10: more follows after the end"),
        ('{\n "a": /* open', "f is not JSON: line 2, column 7: this comment has no end"),
        ('{"a": tru}', "f is not JSON: line 1, column 7: 't' begins no value"),
        ("[" * 300, "f is not JSON: line 1, column 202: nested too deeply"),
        ("[]", "f: the whole should be an object"),
        ('{"hooks": []}', "f: hooks should be an object"),
        ('{"hooks": {"PreToolUse": {}}}', "f: hooks.PreToolUse should be a list"),
    ],
)
def test_what_does_not_parse_is_refused_by_line_and_column(text: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        apply_pieces("f", text, "json", JSON_PIECES)

    assert refused.value.message == words


def test_toml_that_does_not_parse_or_has_no_room_is_refused() -> None:
    with pytest.raises(Invalid, match="f is not TOML: line 2, column 5: "):
        apply_pieces("f", "a = 1\nb = ", "toml", (TABLE,))
    with pytest.raises(Invalid, match="our table does not go beside what is there"):
        apply_pieces("f", 'mcp_servers = {x = {command = "y"}}\n', "toml", (TABLE,))


def test_an_entry_of_somebody_else_by_our_name_stays() -> None:
    text = '{"mcpServers": {"nexus": {"command": "other"}}}'

    done = apply_pieces("f", text, "json", (Put(("mcpServers", "nexus"), {"command": "git"}),))

    assert (done.text, done.has_ours) == (text, False)
    assert done.kept == ["f has mcpServers.nexus already, so that stays as it is"]


def test_a_file_of_ours_is_known_again_until_somebody_changes_it() -> None:
    text = with_signature(f"# {blank_signature()}\nhello\n")

    assert is_unchanged_own_file(text)
    assert not is_unchanged_own_file(text + "more\n")
    assert not is_unchanged_own_file("hello\n")
    assert apply_pieces("f", text, "whole", (Whole("newer"),)).text == "newer"
    assert apply_pieces("f", text + "more\n", "whole", (Whole("newer"),)).text == text + "more\n"


def test_a_hook_that_somebody_tuned_goes_all_the_same() -> None:
    done = apply_pieces("f", "{}", "json", JSON_PIECES)
    tuned = json.loads(done.text)
    tuned["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = 99
    tuned["mcpServers"]["nexus"]["env"] = {"A": "1"}

    rest, _ = undo_insertions("f", held("json", "{}", done), json.dumps(tuned))

    assert rest == "{}"
