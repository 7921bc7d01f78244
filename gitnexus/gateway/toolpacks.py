"""Parses `tools.json`, the tools of a project's own, and turns a call of one into a command line. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.policy.model import Network
from gitnexus.policy.patterns import SLOT_WORDS, SLOTS, require_path_pattern

VERSION = 1
LARGEST = 256 * 1024
MOST_TOOLS = 100
_MOST_ITEMS = 50
_PACK = re.compile(r"[a-z][a-z0-9-]{0,19}")
_TOOL = re.compile(r"[a-z][a-z0-9-]{0,29}")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,29}")
_TAG = re.compile(r"[a-z][a-z0-9-]{0,39}")
_HOLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
# Packs whose tools would be taken for ours, and parameters that every tool has.
OURS = ("artifact", "cmd", "git", "propose", "repo", "tests")
COMMON = ("approval", "summary", "wait")
HoleType = Literal["int", "name", "path", "text"]


class ToolParameter(Record):
    """A typed hole of a command line. `many` takes a list, each item a word of its own."""

    type: HoleType = "text"
    about: str = ""
    required: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()


class PackTool(Record):
    """One tool: a command line with holes, where and how it runs, and what its author says of its effects."""

    name: str
    about: str
    argv: tuple[str, ...]
    parameters: dict[str, ToolParameter] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    cwd: str = ""
    network: Network = "none"
    seconds: int = 600


class ToolPack(Record):
    """Tools under one name."""

    name: str
    about: str = ""
    tools: tuple[PackTool, ...]


class ToolPacks(Record):
    """The content of the file."""

    version: int
    packs: tuple[ToolPack, ...] = ()

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
        if not _PACK.fullmatch(pack.name) or pack.name in OURS:
            raise Invalid(
                f"{where}: {pack.name[:40]!r} cannot be the name of a pack",
                hint=f"small letters, digits and -, at most 20; not {', '.join(OURS)}",
            )
        tools = [tool.name for tool in pack.tools]
        if len(set(tools)) < len(tools):
            raise Invalid(f"{where}: {pack.name}: two tools have the same name")
        for tool in pack.tools:
            _check_tool(tool, f"{where}: {pack.name}.{tool.name[:40]}")
    return found


def _check_tool(tool: PackTool, where: str) -> None:
    if not _TOOL.fullmatch(tool.name):
        raise Invalid(f"{where}: a tool's name is small letters, digits and -, at most 30")
    if not 0 < len(tool.about.strip()) <= 500 or not tool.about.isprintable():
        raise Invalid(f"{where}: about should say in one line of at most 500 characters what it does")
    if not tool.argv or not tool.argv[0] or len(tool.argv) > _MOST_ITEMS:
        raise Invalid(f"{where}: argv should be a program and at most {_MOST_ITEMS - 1} words")
    if not 1 <= tool.seconds <= 3600:
        raise Invalid(f"{where}: seconds should be between 1 and 3600")
    _check_account(tool, where)
    _check_holes(tool, where)


def _check_account(tool: PackTool, where: str) -> None:
    """Refuse tags, effects or parameters that cannot be. Raises: Invalid."""
    for tag in tool.tags:
        if not _TAG.fullmatch(tag):
            raise Invalid(f"{where}: {tag[:40]!r} is no tag", hint="small letters, digits and -")
    for name in ("reads", "writes"):
        for pattern in getattr(tool, name) or ():
            require_path_pattern(pattern, f"{where}: {name}")
    for name, one in tool.parameters.items():
        if not _PARAMETER.fullmatch(name) or name in COMMON:
            raise Invalid(
                f"{where}: {name[:40]!r} cannot be the name of a parameter",
                hint=f"small letters, digits and _, at most 30; not {', '.join(COMMON)}",
            )
        for choice in one.choices:
            _require_fitting(choice, one, f"{where}: {name}: choices")


def _check_holes(tool: PackTool, where: str) -> None:
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


@dataclass(frozen=True, slots=True)
class PackParameters:
    """The form of one tool's parameters: checks what a caller sent, and gives the JSON Schema of it."""

    tool: PackTool
    # What every tool takes beside its own: the name and what it is for.
    common: Mapping[str, str]

    def check(self, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was given, without what is null. Raises: Invalid, naming the parameter."""
        found = {name: value for name, value in given.items() if value is not None}
        for name, value in found.items():
            if name in self.common:
                if not isinstance(value, str) and not (name == "wait" and type(value) is int):
                    raise Invalid(f"{name} should be text")
            elif name not in self.tool.parameters:
                known = ", ".join((*self.tool.parameters, *self.common))
                raise Invalid(f"{tool} has no parameter {name!r}", hint=f"it takes {known}")
            else:
                self._check_value(name, value)
        for name, one in self.tool.parameters.items():
            if one.required and name not in found:
                raise Invalid(f"{name} is required for {tool}")
        return found

    def _check_value(self, name: str, value: Any) -> None:
        one = self.tool.parameters[name]
        if one.many and (not isinstance(value, list) or len(value) > 1000):
            raise Invalid(f"{name} should be a list of at most 1000")
        for item in value if one.many else [value]:
            kinds = (str, int) if one.type == "int" else (str,)
            if type(item) not in kinds:
                raise Invalid(f"{name} should be {'a whole number' if one.type == 'int' else 'text'}")
            if one.choices and str(item) not in one.choices:
                raise Invalid(f"{name} should be one of {', '.join(one.choices)}")
            _require_fitting(str(item), one, name)

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        rows = {name: _schema_of(one) for name, one in self.tool.parameters.items()}
        rows |= {name: {"type": "string", "description": words} for name, words in self.common.items()}
        required = [name for name, one in self.tool.parameters.items() if one.required]
        return {"type": "object", "additionalProperties": False, "properties": rows, "required": required}


def _schema_of(one: ToolParameter) -> dict[str, Any]:
    words = one.about or f"Takes {SLOT_WORDS[one.type]}."
    item: dict[str, Any] = {"type": ["integer", "string"] if one.type == "int" else "string"}
    item |= {"enum": list(one.choices)} if one.choices else {}
    return {"type": "array", "items": item, "description": words} if one.many else {**item, "description": words}
