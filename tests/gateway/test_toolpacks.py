"""Tools of a project's own: what their file may say, the command line of a call, and how they are offered."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.gateway.toolpacks import PackTool, argv_for_call, parameters_of_tool, parse_tool_packs
from gitnexus.mcp.runserver import RunToolHandlers
from gitnexus.runs.agent.tools import call_run_tool, project_run_tools
from gitnexus.sandbox.levels import best_level
from tests.conftest import Nexus
from tests.runs.begun import begun

TOOL: dict[str, Any] = {
    "name": "count", "about": "Count the lines of files.", "argv": ["wc", "--{what}", "{files}"], "tags": ["text"],
    "parameters": {"what": {"choices": ["lines", "words"]}, "files": {"type": "path", "many": True}},
    "reads": ["**"],
}  # fmt: skip


def file_of(*tools: dict[str, Any], **pack: Any) -> bytes:
    return json.dumps({"version": 1, "packs": [{"name": "text", "tools": list(tools), **pack}]}).encode()


def tool_of(**changed: Any) -> PackTool:
    return parse_tool_packs(file_of({**TOOL, **changed}), "tools.json").by_name()["text.count"]


@pytest.mark.parametrize(
    ("argv", "parameters", "given", "line"),
    [
        (["wc", "--{what}", "{files}"], TOOL["parameters"], {"what": "lines", "files": ["a b", "c/d"]},
         ["wc", "--lines", "a b", "c/d"]),
        (["wc", "{files}", "-l"], {"files": {"type": "path", "many": True}}, {"files": []}, ["wc", "-l"]),
        # The word of what is not given is left out, with all that stands in it.
        (["m", "--to={n}", "go"], {"n": {"type": "int", "required": False}}, {}, ["m", "go"]),
        (["m", "--to={n}", "go"], {"n": {"type": "int", "required": False}}, {"n": 7}, ["m", "--to=7", "go"]),
        (["m", "{a}:{b}"], {"a": {"type": "name"}, "b": {}}, {"a": "x", "b": "{a} $(id) ;"}, ["m", "x:{a} $(id) ;"]),
    ],
)  # fmt: skip
def test_the_command_line_of_a_call(
    argv: list[str], parameters: dict[str, Any], given: dict[str, Any], line: list[str]
) -> None:
    tool = tool_of(argv=argv, parameters=parameters)

    assert argv_for_call(tool, parameters_of_tool(tool, {}).check("text.count", given)) == line


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("path", "../x"), ("path", "/etc/passwd"), ("path", "-rf"), ("path", "~/x"), ("path", "a/../../b"),
        ("text", "--output=x"), ("text", "a\nb"), ("name", "a/b"), ("name", "-x"), ("int", "-1"), ("int", "1e9"),
        ("int", 1.5), ("int", True), ("text", 7), ("text", ["x"]),
    ],
)  # fmt: skip
def test_a_value_that_its_hole_does_not_take_is_refused(type_: str, value: object) -> None:
    tool = tool_of(argv=["m", "--x={v}"], parameters={"v": {"type": type_}})

    with pytest.raises(Invalid):
        parameters_of_tool(tool, {}).check("text.count", {"v": value})


def test_a_parameter_may_have_the_name_of_a_method() -> None:
    names = ("check", "json", "model_config", "input_schema", "copy")
    tool = tool_of(argv=["m", *(f"{{{name}}}" for name in names)], parameters={name: {} for name in names})

    form = parameters_of_tool(tool, {"wait": "How long."})

    given = {**dict.fromkeys(names, "x"), "wait": 7}
    assert form.check("text.count", given) == given
    assert list(form.input_schema()["properties"]) == [*names, "wait"]


def test_the_schema_says_types_choices_and_uses() -> None:
    tool = tool_of(
        argv=["wc", "--{what}", "{files}", "{n}"],
        parameters={**TOOL["parameters"], "n": {"type": "int", "required": False, "about": "How many."}},
    )

    schema = parameters_of_tool(tool, {"summary": "What it is for."}).input_schema()

    assert schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["what", "files"],
        "properties": {
            "what": {
                "type": "string",
                "enum": ["lines", "words"],
                "description": "Takes any one token that does not begin with `-`.",
            },
            "files": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": 1000,
                "description": "Takes a path below the folder of the command, without `..`, `~`, `$` or a leading `/`.",
            },
            "n": {"type": ["integer", "string"], "description": "How many."},
            "summary": {"type": "string", "description": "What it is for."},
        },
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"what": "lines"}, "files is required"),
        ({"what": "bytes", "files": []}, "one of lines, words"),
        ({"what": "lines", "files": [], "argv": ["rm"]}, "no parameter 'argv'"),
        ({"what": "lines", "files": "a"}, "a list"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_happens(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        parameters_of_tool(tool_of(), {}).check("text.count", given)

    assert said in refused.value.message


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"argv": ["{what}", "{files}"]}, "the program itself cannot be a parameter"),
        ({"argv": ["wc", "{what}"]}, "nothing in argv uses the parameter files"),
        ({"argv": ["wc", "{what}", "{files}", "{who}"]}, "there is no parameter who"),
        ({"argv": ["wc", "{what}", "-f{files}"]}, "should be a word of its own"),
        ({"argv": ["wc", "{what}", "{files}", "{}"]}, "a brace that is no {parameter}"),
        ({"argv": []}, "argv should have at least 1 item"),
        ({"argv": ["", "{what}", "{files}"]}, "argv should begin with a program"),
        ({"name": "Count"}, "name should be lower-case letters"),
        ({"about": ""}, "about should be one line"),
        ({"about": "a\nb"}, "about should be one line"),
        ({"tags": ["T"]}, "lower-case letters"),
        ({"seconds": 0}, "seconds should be"),
        ({"network": "world"}, "network"),
        ({"writes": ["../x"]}, "writes"),
        ({"allow": True}, "allow"),
        ({"parameters": {"approval": {}}}, "cannot be the name of a parameter"),
        ({"parameters": {**TOOL["parameters"], "what": {"type": "int", "choices": ["x"]}}}, "does not fit"),
    ],
)
def test_a_wrong_file_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        tool_of(**changed)

    assert said in refused.value.message


@pytest.mark.parametrize("name", ["cmd", "repo", "propose", "Db", "a_b", ""])
def test_a_pack_cannot_be_called_like_ours(name: str) -> None:
    with pytest.raises(Invalid):
        parse_tool_packs(file_of(TOOL, name=name), "tools.json")


def declared(nexus: Nexus, project: Path, raw: bytes, *, signed: bool = True) -> None:
    (project / ".nexus" / "tools.json").write_bytes(raw)
    nexus.ok("status")
    if signed:
        nexus.ok("policy", "trust", "--confirm", f"sha256:{hashlib.sha256(raw).hexdigest()}")


def test_a_tool_that_nobody_signed_or_that_was_altered_is_not_offered(nexus: Nexus, project: Path) -> None:
    declared(nexus, project, file_of(TOOL), signed=False)
    unsigned = json.loads(nexus.ok("toolpack", "list", "--json"))
    refused = nexus("tool", "text.count", '{"what": "lines", "files": ["readme.txt"]}')
    declared(nexus, project, file_of(TOOL))
    signed = json.loads(nexus.ok("toolpack", "list", "--json"))
    listed = nexus.ok("tool")
    declared(nexus, project, file_of({**TOOL, "argv": ["sh", "{what}", "{files}"]}), signed=False)
    altered = json.loads(nexus.ok("toolpack", "list", "--json"))

    assert (unsigned["whyNot"], [row["offered"] for row in unsigned["tools"]]) == ("nobody signed it", [False])
    assert (refused.returncode, "there is no tool" in refused.stdout) == (4, True)
    assert (signed["whyNot"], [row["name"] for row in signed["tools"]]) == ("", ["text.count"])
    assert "text.count" in listed
    assert altered["whyNot"].startswith("it changed since it was signed")
    assert "text.count" not in nexus.ok("tool")


def test_a_call_is_judged_like_any_command_and_runs_where_a_rule_allows_it(nexus: Nexus, project: Path) -> None:
    declared(nexus, project, file_of(TOOL))
    call = ("tool", "text.count", '{"what": "lines", "files": ["readme.txt"]}')
    asked = nexus(*call)
    nexus.ok("policy", "add", "allow", "--user", "--", "wc", "--lines", "{path}")
    ran = json.loads(nexus.ok(*call))
    nexus.ok("policy", "add", "deny", "--user", "--", "wc", "**")
    denied = nexus(*call)

    assert asked.returncode == 21
    assert (ran["status"], ran["output"]) == (0, "1 readme.txt\n")
    assert denied.returncode == 20
    assert nexus("tool", "text.count", '{"what": "lines", "files": ["../x"]}').returncode == 6


def test_a_tool_is_held_to_the_files_that_it_declares(nexus: Nexus, project: Path) -> None:
    copy = {"name": "copy", "about": "Copy a file.", "argv": ["bin/copy", "{a}", "{b}"], "reads": ["*.txt"],
            "writes": ["out/**"], "parameters": {"a": {"type": "path"}, "b": {"type": "path"}}}  # fmt: skip
    declared(nexus, project, file_of(copy))
    nexus.ok("policy", "add", "allow", "--user", "--", "bin/copy", "{path}", "{path}")
    (project / "bin").mkdir()
    (project / "bin" / "copy").write_text('#!/bin/sh\ncat "$1" > "$2"\n')
    (project / "bin" / "copy").chmod(0o755)
    (project / "out").mkdir()
    (project / "in").mkdir()
    (project / "in" / "secret.md").write_text("s\n")

    def call(source: str, target: str) -> dict[str, Any]:
        done = nexus("tool", "text.copy", json.dumps({"a": source, "b": target}))
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    good, beyond, unread = call("readme.txt", "out/a.txt"), call("readme.txt", "new.txt"), call("in/secret.md", "out/b")
    over = call("out/a.txt", "readme.txt")

    assert "error" not in good, good
    assert (good["status"], (project / "out" / "a.txt").exists()) == (0, True)
    assert beyond["error"] == "it changed what its tool does not declare to write, and that was undone: new.txt"
    assert not (project / "new.txt").exists()
    assert unread["status"] != 0 or best_level() in ("L0", "L1")
    assert over.get("status") == 0 or "readme.txt" in over["error"]
    assert (project / "readme.txt").read_text() == "hello\n"


def test_an_agent_in_a_run_is_offered_it_and_its_call_is_an_action_with_what_it_is_for(
    nexus: Nexus, project: Path
) -> None:
    declared(nexus, project, file_of(TOOL))
    with begun(project) as run:
        handlers = RunToolHandlers(project, run.record.id)
        (row,) = handlers._describe_project_tools()
        done = call_run_tool(run, "text_count", {"what": "words", "files": ["readme.txt"], "summary": "how long"})
        action = run.view().actions["a1"]

    assert (row.name, row.input_schema["required"]) == ("text_count", ["what", "files"])
    assert row.description == "Count the lines of files. A tool of this project: reads **; tags text."
    assert (done["status"], action.kind) == ("waiting", "command")
    assert action.summary == "how long (text.count: reads **; tags text)"


def test_without_a_signature_an_agent_in_a_run_is_offered_nothing(nexus: Nexus, project: Path) -> None:
    declared(nexus, project, file_of(TOOL), signed=False)
    with begun(project) as run:
        assert project_run_tools(run) == {}
        with pytest.raises(NotFound):
            call_run_tool(run, "text_count", {"what": "words", "files": ["readme.txt"]})


def test_check_names_what_is_wrong(nexus: Nexus, project: Path) -> None:
    (project / "mine.json").write_bytes(file_of({**TOOL, "argv": ["wc"]}))
    (project / "good.json").write_bytes(file_of(TOOL))

    wrong = nexus("toolpack", "check", "mine.json")

    assert (wrong.returncode, "nothing in argv uses the parameter files" in wrong.stderr) == (6, True)
    assert "1 checked" in nexus.ok("toolpack", "check", "good.json")
    assert nexus("toolpack", "check").returncode == 4
