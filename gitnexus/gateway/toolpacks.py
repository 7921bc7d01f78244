"""Parses `tools.json`, the tools of a project's own, and turns a call of one into a command line. Pure."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model

from gitnexus.base.canonical import parse_json
from gitnexus.base.document import Document, Many, has_form
from gitnexus.base.errors import Invalid
from gitnexus.base.parameters import Number, Parameters
from gitnexus.base.text import one_line
from gitnexus.policy.model import Network
from gitnexus.policy.patterns import SLOT_WORDS, SLOTS, require_path_pattern

VERSION = 1
LARGEST = 256 * 1024
MOST_TOOLS = 100
_MOST_WORDS, _MOST_VALUES = 50, 1000
_HOLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
# Packs whose tools would be taken for ours, and parameters that every tool has.
OURS = ("artifact", "cmd", "git", "propose", "repo", "tests")
COMMON = ("approval", "summary", "wait")
HoleType = Literal["int", "name", "path", "text"]
PackName = Annotated[str, *has_form("[a-z][a-z0-9-]{0,19}", "lower-case letters, digits and -, at most 20")]
ToolName = Annotated[str, *has_form("[a-z][a-z0-9-]{0,29}", "lower-case letters, digits and -, at most 30")]
ParameterName = Annotated[str, *has_form("[a-z][a-z0-9_]{0,29}", "lower-case letters, digits and _, at most 30")]
EffectTag = Annotated[str, *has_form("[a-z][a-z0-9-]{0,39}", "lower-case letters, digits and -, at most 40")]
_LINE = r"(?=.*\S)[^\x00-\x1f\x7f]{1,500}"


class ToolParameter(Document):
    """A typed hole of a command line. `many` takes a list, each item a word of its own."""

    type: HoleType = "text"
    about: str = ""
    required: bool = True
    many: bool = False
    choices: Many[str] = ()


class PackTool(Document):
    """One tool: a command line with holes, where and how it runs, and what its author says of its effects."""

    name: ToolName
    about: Annotated[str, *has_form(_LINE, "one line of at most 500 characters that says what it does")]
    argv: Annotated[Many[str], Field(min_length=1, max_length=_MOST_WORDS)]
    parameters: dict[ParameterName, ToolParameter] = Field(default_factory=dict)
    tags: Many[EffectTag] = ()
    reads: Many[str] | None = None
    writes: Many[str] | None = None
    cwd: str = ""
    network: Network = "none"
    seconds: Annotated[int, Field(ge=1, le=3600)] = 600


class ToolPack(Document):
    """Tools under one name."""

    name: PackName
    about: str = ""
    tools: Many[PackTool]


class ToolPacks(Document):
    """The content of the file."""

    version: int
    packs: Many[ToolPack] = ()

    def by_name(self) -> dict[str, PackTool]:
        """Return all tools by their full names, PACK.TOOL."""
        return {f"{pack.name}.{tool.name}": tool for pack in self.packs for tool in pack.tools}


def parse_tool_packs(raw: bytes, where: str) -> ToolPacks:
    """Return the validated packs. Raises: Invalid, naming the tool."""
    if len(raw) > LARGEST:
        raise Invalid(f"{where} is larger than {LARGEST // 1024} KiB")
    try:
        value = parse_json(raw)
    except Invalid as exc:
        raise Invalid(f"{where} is {exc.message}") from exc
    found = ToolPacks.from_value(value, where)
    if found.version != VERSION:
        raise Invalid(f"{where}: version should be {VERSION}", hint=f'write "version": {VERSION}')
    names = [pack.name for pack in found.packs]
    if len(set(names)) < len(names):
        raise Invalid(f"{where}: two packs have the same name")
    if sum(len(pack.tools) for pack in found.packs) > MOST_TOOLS:
        raise Invalid(f"{where}: more than {MOST_TOOLS} tools", hint="an agent reads all of them")
    for pack in found.packs:
        if pack.name in OURS:
            raise Invalid(f"{where}: {pack.name!r} cannot be the name of a pack", hint=f"not {', '.join(OURS)}")
        tools = [tool.name for tool in pack.tools]
        if len(set(tools)) < len(tools):
            raise Invalid(f"{where}: {pack.name}: two tools have the same name")
        for tool in pack.tools:
            _check_tool(tool, f"{where}: {pack.name}.{tool.name}")
    return found


def _check_tool(tool: PackTool, where: str) -> None:
    """Refuse what a single field cannot tell: effects, choices and holes that cannot be. Raises: Invalid."""
    for name in ("reads", "writes"):
        for pattern in getattr(tool, name) or ():
            require_path_pattern(pattern, f"{where}: {name}")
    for name, one in tool.parameters.items():
        if name in COMMON:
            raise Invalid(f"{where}: {name!r} cannot be the name of a parameter", hint=f"not {', '.join(COMMON)}")
        for choice in one.choices:
            _require_fitting(choice, one, f"{where}: {name}: choices")
    _check_holes(tool, where)


def _check_holes(tool: PackTool, where: str) -> None:
    if not tool.argv[0]:
        raise Invalid(f"{where}: argv should begin with a program")
    used = set()
    for at, word in enumerate(tool.argv):
        names = _HOLE.findall(word)
        used |= set(names)
        if "\0" in word or "{" in _HOLE.sub("", word) or "}" in _HOLE.sub("", word):
            raise Invalid(f"{where}: argv: {one_line(word, 60)!r} has a brace that is no {{parameter}}")
        if at == 0 and names:
            raise Invalid(f"{where}: argv: the program itself cannot be a parameter")
        for name in names:
            if name not in tool.parameters:
                raise Invalid(f"{where}: argv: there is no parameter {name}", hint="declare it under parameters")
            if tool.parameters[name].many and word != f"{{{name}}}":
                raise Invalid(f"{where}: argv: {name} takes many, so {{{name}}} should be a word of its own")
    if idle := sorted(tool.parameters.keys() - used):
        raise Invalid(f"{where}: nothing in argv uses the parameter {idle[0]}")


def argv_for_call(tool: PackTool, given: Mapping[str, Any]) -> list[str]:
    """Return the command line for a call whose parameters were checked; a word of what is not given is left out.

    Raises: Invalid, for a value that its hole does not take.
    """
    argv: list[str] = []
    for word in tool.argv:
        names = _HOLE.findall(word)
        if any(name not in given for name in names):
            continue
        for name in names:
            values = given[name] if tool.parameters[name].many else [given[name]]
            for value in values:
                _require_fitting(str(value), tool.parameters[name], name)
        if len(names) == 1 and tool.parameters[names[0]].many:
            argv += [str(value) for value in given[names[0]]]
        else:
            argv.append(_HOLE.sub(lambda found: str(given[found[1]]), word))
    return argv


def _require_fitting(value: str, parameter: ToolParameter, where: str) -> None:
    if not re.fullmatch(SLOTS[parameter.type], value):
        raise Invalid(f"{where}: {one_line(value, 60)!r} does not fit", hint=f"it takes {SLOT_WORDS[parameter.type]}")


def describe_effects(tool: PackTool) -> str:
    """Return what a tool reads and writes, in a few words: its command is held to that."""
    declared = (("reads", tool.reads), ("writes", tool.writes))
    parts = [f"{verb} {', '.join(paths) or 'nothing'}" for verb, paths in declared if paths is not None]
    parts += [f"network {tool.network}"] if tool.network != "none" else []
    parts += [f"tags {', '.join(tool.tags)}"] if tool.tags else []
    return "; ".join(parts)


def parameters_of_tool(tool: PackTool, common: Mapping[str, str]) -> type[Parameters]:
    """Return the class that checks the parameters of a tool; `common` are those that every tool has, and their use."""
    fields: dict[str, Any] = {name: _field_of(name, one) for name, one in tool.parameters.items()}
    fields |= {name: _common_field(name, words) for name, words in common.items()}
    # A field of a class cannot have every name that a parameter may have: `check` would hide the method.
    return create_model("PackParameters", __base__=Parameters, **{f"{name}_": field for name, field in fields.items()})


def _field_of(name: str, one: ToolParameter) -> tuple[Any, Any]:
    kind: Any = (
        Literal[one.choices] if one.choices else Annotated[str, has_form(SLOTS[one.type], SLOT_WORDS[one.type])[0]]
    )
    schema: dict[str, Any] = {"enum": list(one.choices)} if one.choices else {}
    if one.type == "int":
        kind, schema["type"] = Annotated[kind, BeforeValidator(_number_as_text)], ["integer", "string"]
    kind = Annotated[kind, Field(json_schema_extra=schema)]
    if one.many:
        kind = Annotated[list[kind], Field(max_length=_MOST_VALUES)]
    words = one.about or f"Takes {SLOT_WORDS[one.type]}."
    if one.required:
        return kind, Field(alias=name, description=words)
    return kind | None, Field(None, alias=name, description=words)


def _common_field(name: str, words: str) -> tuple[Any, Any]:
    return (Number if name == "wait" else str) | None, Field(None, alias=name, description=words)


def _number_as_text(value: Any) -> Any:
    return str(value) if type(value) is int else value
