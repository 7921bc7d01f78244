"""Write the generated pages of docs/reference, and docs/man/git-nexus.1, from the program itself.

`make docs` runs it; a test compares. The same program gives the same bytes: no dates, and no wording of click's own.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gitnexus.app.tools import TOOLS
from gitnexus.base.parameters import describe_kind
from gitnexus.base.tool import Tool, input_schema_of, output_schema_of
from gitnexus.gateway.table import TOOLS as GATEWAY
from gitnexus.main import COMMANDS
from gitnexus.redaction.rules import FAMILIES, RULES, SecretRule
from gitnexus.redaction.shape import ALPHABETS
from gitnexus.ui.commands import build_root_command, common_options
from gitnexus.workflow.macros import MACROS
from gitnexus.workflow.schemas import render_schemas
from gitnexus.workflow.state_files import render_macro

DOCS = Path(__file__).resolve().parents[1]
# An object with so many fields is shown once on a page.
LARGE_OBJECT = 5
GATEWAY_PAGE = DOCS / "reference" / "gateway-tools.md"
WORKFLOW = DOCS.parent / "gitnexus" / "workflow"
COMMON = {name for option in common_options() for name in option.opts}
GLOSSARY = "Terms are explained in the [glossary](../explanation/glossary.md)."
HELP = ("-h, --help", "Show the help of the command.")

EXIT_STATUS = (
    ("0", "Done."),
    (
        "1",
        "It failed and you can mend it; the hint tells how. Also: `doctor` found a problem, `hook` refused a commit.",
    ),
    ("2", "The command line is wrong."),
    ("3", "It already exists."),
    (
        "4",
        "Not found: no such folder, repository, project at a path, path in the state, tool, plan, task, note or role.",
    ),
    ("6", "What was given breaks a rule, or a stored file does not have the form it should."),
    ("7", "Busy: somebody else is writing, or has claimed the task. The same command works later."),
    ("20", "The policy says no; the rule is named."),
    ("21", "A person has to say yes first, and there is no terminal to ask on."),
    ("22", "A token or a signature does not fit what it is shown with."),
    ("23", "Conflict: something is in the way, or changed meanwhile."),
    ("70", "No registered project has that name, alias or hash."),
    ("71", "The current project may not do that to the other one; the command that would grant it is printed."),
    ("72", "Not the form of a task reference: T12, my-api:T12, .:T12, *:T12."),
    ("73", "The graph of all projects could not be built."),
    ("74", "Two paths have the same hash."),
    ("75", "A cache is damaged and could not be built again."),
    ("76", "Several projects answer to that word; the candidates are named."),
    ("99", "A bug in git nexus. The path of the log is printed."),
    ("130", "Interrupted."),
    ("141", "Whoever read the output went away, as in `| head`."),
)
ENVIRONMENT = (
    ("NEXUS_HOME", "Folder of the home repository and of the logs. Default: the platform's data folder for git-nexus."),
    ("NO_COLOR", "If it is set and not empty, no colours. The same with TERM=dumb."),
    (
        "NEXUS_SCREEN_READER",
        "1 lets `git nexus chat` talk in lines that a screen reader can read out, as nexus.screenReader in the git "
        "config does.",
    ),
    (
        "NEXUS_PROJECT",
        "The current project, by its folder or its name, for commands between projects and for `git nexus mcp`; else "
        "the place or the client tells.",
    ),
    ("NEXUS_AGENT", "The agent that claims tasks and reads notes; without it the person whom git names."),
    ("NEXUS_TOOLS", "Set for the agent of a run: the command line that serves it the run's tools."),
    ("NEXUS_HARNESS", "The program that calls the tools; it names the folder of its agents. Default: git-nexus."),
    (
        "NEXUS_CHECK_RESULTS",
        "If it is set and not empty, what a tool returns is checked against its schema; a field that does not fit is "
        "reported as a bug. `git nexus conformance` sets it for what it calls.",
    ),
    ("GIT_DIR, GIT_WORK_TREE", "Name the repository, as they do for git. No other child of git nexus inherits them."),
    ("GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL", "Who is named in the commits on the state ref."),
)
FILES = (
    ("refs/nexus/state", "The ref that holds the state."),
    (".nexus/", "A checkout of it in each worktree, ignored by git."),
    (".nexus/state/plan.json, tasks.json", "The open plan and the tasks of this worktree; never committed."),
    (".nexus/state/artifacts/", "Files that agents leave for each other; never committed."),
    (".nexus/state/<harness>/agent-tracker.json", "The agents that a harness started; never committed."),
    (".nexus/history.json", "Closed cycles; on the ref."),
    (
        ".nexus/settings.json",
        "Settings of the project; on the ref. `catalog` names a package of roles, and adds limits.",
    ),
    ("$NEXUS_HOME/settings.json", "Your own settings, for all projects; a project's go over them, limits add up."),
    (".nexus/backlog/T1.json", "A task of the backlog; on the ref."),
    ("<git-dir>/nexus/projection", "What the files of this worktree's .nexus/ were when they were last looked at."),
    ("<git-dir>/nexus/session.lock", "Held while a tool changes the files of this worktree's session."),
    ("<git-common-dir>/nexus/", "The lock, the hook shim and the trash, shared by all worktrees."),
    (
        "$NEXUS_HOME/home.git",
        "The home repository: registry, permissions and audit of your projects, on its own refs/nexus/state.",
    ),
    ("$NEXUS_HOME/settings.json", "Your own settings, below those of each project."),
    ("$NEXUS_HOME/cache/", "The index of all projects' tasks, only for you; it can be deleted at any time."),
    ("$NEXUS_HOME/log/", "One file for each bug that git nexus hit."),
)
# The tools of the contract; whatever else is on the shelf is ours.
CONTRACT = (
    "plan_start", "plan_status", "plan_update", "plan_decide", "task_add", "task_list", "task_update", "task_close",
    "history_search", "context", "artifact_write",
)  # fmt: skip
KINDS = {
    "text": "text",
    "a whole number": "number",
    "a number": "number, also with a fraction",
    "true or false": "true or false",
    "a list of texts": "list of texts",
    "a list of whole numbers": "list of numbers",
    "an object of texts": "object of texts",
    "a list of objects": "list of objects",
}
SEE_ALSO = ("git(1)", "githooks(5)", "git-worktree(1)", "gitrevisions(7)")


@dataclass(frozen=True)
class Page:
    """One command as both pages show it."""

    path: str
    section: str
    usage: str
    paragraphs: list[str]
    arguments: list[tuple[str, str]]
    options: list[tuple[str, str]]


def pages() -> Iterator[Page]:
    """Yield every command and sub-command in the order of the table."""
    group = build_root_command(COMMANDS)
    ctx = click.Context(group, info_name="git nexus")
    for section, name, _, _ in COMMANDS:
        command = group.get_command(ctx, name)
        if command is None:
            raise LookupError(name)
        yield from _pages_of(command, f"git nexus {name}", section)


def _pages_of(command: click.Command, path: str, section: str) -> Iterator[Page]:
    verbs = dict(_verbs(command)) if isinstance(command, click.Group) else {}
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    own = [option for option in options if not COMMON & set(option.opts)]
    words = [path, *(["[OPTION]…"] if own else []), *(_argument(argument) for argument in arguments)]
    yield Page(
        path=path,
        section=section,
        usage=" ".join([*words, *(["COMMAND"] if verbs else [])]),
        paragraphs=_paragraphs(command.help or ""),
        arguments=[(_argument(argument), _choices(argument)) for argument in arguments],
        options=[_option(option) for option in own],
    )
    for name, verb in verbs.items():
        yield from _pages_of(verb, f"{path} {name}", section)


def _verbs(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        verb = group.get_command(ctx, name)
        if verb is None:
            raise LookupError(name)
        yield name, verb


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text; one that click must not wrap starts with a line break."""
    found = []
    for block in inspect.cleandoc(text).split("\n\n"):
        lines = block.split("\n")
        found.append("\n" + "\n".join(lines[1:]) if lines[0] == "\b" else " ".join(line.strip() for line in lines))
    return found


def _argument(argument: click.Argument) -> str:
    name = (argument.metavar or argument.name or "").upper().strip("[]…")
    shown = name if argument.required else f"[{name}]"
    return f"{shown}…" if argument.nargs == -1 else shown


def _choices(param: click.Parameter) -> str:
    return ", ".join(param.type.choices) if isinstance(param.type, click.Choice) else ""


def _option(option: click.Option) -> tuple[str, str]:
    names = ", ".join(sorted([*option.opts, *option.secondary_opts], key=len))
    words = [option.help or ""]
    if option.show_default:
        words.append(f"Default: {option.default}.")
    if option.is_flag:
        return names, " ".join(words)
    if isinstance(option.type, click.Choice):
        return f"{names} {'|'.join(option.type.choices)}", " ".join(words)
    kind = "NUMBER" if isinstance(option.type, click.types.IntParamType) else "VALUE"
    return f"{names} {option.metavar or kind}", " ".join(words)


def _common() -> list[tuple[str, str]]:
    options = [_option(option) for option in common_options() if isinstance(option, click.Option)]
    return [*options, HELP]


def commands_md() -> str:
    """Return the Markdown page."""
    parts = [
        "# Commands",
        "<!-- written by docs/reference/generate.py: change the command, then run make docs -->",
        "`git nexus COMMAND`; `git nexus` alone shows the list, `git nexus --version` the version. What a status\n"
        "means is in [exit-codes.md](exit-codes.md), the form of `--json` in [json.md](json.md).",
        "## Options of every command",
        _table(_common()),
        "`--json`, `--format` and `-C` may also stand before the command.",
    ]
    section = ""
    for page in pages():
        if page.section != section:
            section = page.section
            parts.append(f"## {section[:1].upper()}{section[1:]}")
        parts += [f"### `{page.path}`", f"```\n{page.usage}\n```"]
        parts += [f"```\n{text[1:]}\n```" if text.startswith("\n") else text for text in page.paragraphs]
        named = [row for row in page.arguments if row[1]]
        parts += [_table(named + page.options)] if named or page.options else []
    return "\n\n".join([*parts, GLOSSARY]) + "\n"


def _table(rows: list[tuple[str, str]]) -> str:
    lines = ["| | |", "|---|---|"]
    for name, words in rows:
        lines.append(f"| `{name.replace('|', chr(92) + '|')}` | {words} |")
    return "\n".join(lines)


def tools_md() -> str:
    """Return the page of the tools."""
    shown: dict[str, str] = {}
    parts = [
        "# Tools",
        "<!-- written by docs/reference/generate.py: change its room, then run make docs -->",
        "What agents call: over [MCP](../how-to/connect-an-agent.md) with `nx_` before the name, and as\n"
        '`git nexus tool NAME JSON` without it. A number may also be sent as text (`"3"`). A parameter that a tool\n'
        "does not have, or one of the wrong kind, is an error before anything happens. Below the parameters is what\n"
        "comes back: `?` marks a field that may be missing, `[]` a list of objects. More about it, and the errors, is\n"
        "in the [contract](tool-contract.md).",
        "## The eleven of the contract",
        *(part for name in CONTRACT for part in _tool(TOOLS[name], shown)),
        "## Additions",
        "Ours, beside the contract. Nobody has to call them.",
        *(part for name, tool in TOOLS.items() if name not in CONTRACT for part in _tool(tool, shown)),
    ]
    return "\n\n".join([*parts, GLOSSARY]) + "\n"


def _tool(tool: Tool, shown: dict[str, str]) -> Iterator[str]:
    yield f"### `{tool.name}`"
    effect = "Reads only." if tool.reads_only else "Destructive." if tool.destructive else "Writes."
    yield f"{tool.words} *{effect}*"
    if rows := list(_parameter_rows(input_schema_of(tool))):
        yield "\n".join(["| parameter | kind | | |", "|---|---|---|---|", *rows])
    else:
        yield "No parameters."
    yield _result_block(tool, shown)


def _result_block(tool: Tool, shown: dict[str, str]) -> str:
    """Return the form of a tool's result as a block of code; `shown` are the objects on the page, by their schema."""
    schema = output_schema_of(tool) or {"properties": {}}
    forms = ["\n".join(_result_lines(form, tool.name, shown)) for form in schema.get("anyOf", [schema])]
    return "```text\n" + "\nor\n".join(forms) + "\n```"


def _result_lines(schema: dict[str, Any], tool: str, shown: dict[str, str], indent: str = "") -> Iterator[str]:
    """Yield a line for each field of a result, and below it those of the objects that it holds, once on a page."""
    for name, field in schema["properties"].items():
        items = field.get("items", {})
        inside = next((part for part in (field, items, *field.get("anyOf", ())) if "properties" in part), None)
        need = "" if name in schema.get("required", ()) else "?"
        kind, same = "", ""
        if inside is None:
            kind = f" {_result_kind(field)}"
        elif "anyOf" in field:
            kind = " null, or"
        if inside and len(inside["properties"]) >= LARGE_OBJECT:
            key = json.dumps([inside["properties"], inside.get("required")])
            same = f" as in {shown[key]}" if key in shown else ""
            shown.setdefault(key, tool)
        words = f"  ({field['description']})" if "description" in field else ""
        yield f"{indent}{name}{'[]' if inside is items else ''}{need}:{kind}{same}{words}"
        if inside and not same:
            yield from _result_lines(inside, tool, shown, f"{indent}  ")
    if schema.get("additionalProperties") is True:
        yield f"{indent}…: fields that another version stored"


def _result_kind(schema: dict[str, Any]) -> str:
    match schema:
        case {"anyOf": choices}:
            return " or ".join(map(_result_kind, choices))
        case {"const": value}:
            return value if isinstance(value, str) else str(value).lower()
        case {"enum": choices}:
            return ", ".join(choices)
        case {"type": "array", "items": items}:
            return f"list of {_MANY[_result_kind(items)]}"
        case {"type": "object", "additionalProperties": {"type": "string"}}:
            return "object of texts"
        case {"type": "object"}:
            return "object"
    return _ONE[schema["type"]]


_ONE = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
_MANY = {"text": "texts", "whole number": "whole numbers", "list of texts": "lists of texts"}


def gateway_tools_md(page: str) -> str:
    """Return the page of the gateway's tools, which is written by hand, with the form of each result at its end."""
    shown: dict[str, str] = {}
    for tool in GATEWAY.values():
        head, heading, rest = page.partition(f"## `{tool.name}`\n")
        section, end, after = re.fullmatch(r"(.*?)(\n## |\nTerms are explained|\Z)(.*)", rest, re.DOTALL).groups()
        section = re.sub(r"\n```text\n.*?\n```\n", "", section, flags=re.DOTALL)
        page = f"{head}{heading}{section}\n{_result_block(tool, shown)}\n{end}{after}"
    return page


def _parameter_rows(schema: dict[str, Any], inside: str = "") -> Iterator[str]:
    """Yield a row for each parameter, and below it those of the fields of its objects."""
    for name, field in schema["properties"].items():
        kind = ", ".join(f"`{choice}`" for choice in field.get("enum", ())) or KINDS[describe_kind(field)]
        need = "required" if name in schema.get("required", ()) else ""
        yield f"| `{inside}{name}` | {kind} | {need} | {field['description']} |"
        if "properties" in field.get("items", {}):
            yield from _parameter_rows(field["items"], f"{inside}{name}[].")


def rules_md() -> str:
    """Return the page of the rules for secrets."""
    parts = [
        "# Rules for secrets",
        "Generated by `make docs` from `gitnexus/redaction/rules`. What is done with them: "
        "[redaction](../explanation/redaction.md).",
        f"There are {len(RULES)} rules. In a form, `{{w40}}` is forty letters and digits, `{{w36-255}}` and `{{w20+}}` "
        "as many as they say, `<a|b>` either; the alphabets:",
        _table([(letter, f"`{letters}`") for letter, (letters, _) in ALPHABETS.items()]),
        "A form after `name … =` is a secret only where it is assigned to a name with that word and one like key, "
        "token or secret.",
    ]
    for family, rules in FAMILIES.items():
        parts += [f"## {family[0].upper()}{family[1:]}", _table([(rule.name, _form(rule)) for rule in rules])]
    return "\n\n".join([*parts, GLOSSARY]) + "\n"


def _form(rule: SecretRule) -> str:
    form = f"{rule.vendor} … = {rule.looks}" if rule.vendor else rule.looks
    return "`" + form.replace("|", "\\|") + "`"


def man_page() -> str:
    """Return the manual page in roff."""
    parts = [
        '.\\" written by docs/reference/generate.py: change the command, then run make docs',
        '.TH GIT\\-NEXUS 1 "" "git nexus" "Git Manual"',
        ".SH NAME",
        "git\\-nexus \\- a control plane for coding agents that lives inside git",
        ".SH SYNOPSIS",
        ".B git nexus\n[\\fB\\-C\\fR \\fIDIR\\fR] [\\fB\\-\\-json\\fR] \\fICOMMAND\\fR [\\fIARGUMENT\\fR]\\[u2026]",
        ".br",
        ".B git nexus \\-\\-version",
        ".SH DESCRIPTION",
        _roff(
            "git nexus keeps plans, tasks, memory and history of a project as files on the ref refs/nexus/state. "
            "Every change is one commit with one reason. The folder .nexus/ is a checkout of that ref: read the files "
            "there, edit them there, and the next command takes the edit in."
        ),
        ".PP",
        _roff(
            "This version keeps plans, tasks, their history, a backlog and notes for people and, over MCP, "
            "for agents. It knows your projects by name, shows tasks of one in another, and says who may do what "
            "between them. Agents work in runs of their own, approvals are signed, and clones exchange all of it."
        ),
        ".SH OPTIONS",
        _roff("Every command takes these. All but -h may also stand before the command."),
        *(_tagged(name, words) for name, words in _common()),
        ".SH COMMANDS",
    ]
    for page in pages():
        parts.append(f".SS {_roff(page.usage)}")
        parts += _roff_paragraphs(page.paragraphs)
        parts += [_tagged(name, words) for name, words in page.arguments if words]
        parts += [_tagged(name, words) for name, words in page.options]
    for title, rows in (("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        parts += [f".SH {title}", *(_tagged(name, words) for name, words in rows)]
    parts += [".SH SEE ALSO", _roff(", ".join(SEE_ALSO))]
    return "\n".join(parts) + "\n"


def _roff_paragraphs(paragraphs: list[str]) -> Iterator[str]:
    for number, text in enumerate(paragraphs):
        if number:
            yield ".PP"
        if text.startswith("\n"):
            yield ".nf\n" + "\n".join(_roff(line) for line in text[1:].split("\n")) + "\n.fi"
        else:
            yield _roff(text)


def _tagged(name: str, words: str) -> str:
    return f".TP\n\\fB{_roff(name)}\\fR\n{_roff(words)}"


_SPELLED = {
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq", "…": "\\[u2026]",
}  # fmt: skip


def _roff(text: str) -> str:
    line = "".join(_SPELLED.get(letter, letter) for letter in text)
    return f"\\&{line}" if line.startswith(".") else line


def targets() -> dict[Path, str]:
    """Return what each generated file should hold."""
    return {
        DOCS / "reference" / "commands.md": commands_md(),
        DOCS / "reference" / "tools.md": tools_md(),
        GATEWAY_PAGE: gateway_tools_md(GATEWAY_PAGE.read_text(encoding="utf-8")),
        DOCS / "reference" / "redaction-rules.md": rules_md(),
        DOCS / "man" / "git-nexus.1": man_page(),
        **{WORKFLOW / "schemas" / name: text for name, text in render_schemas().items()},
        **{WORKFLOW / "builtins" / f"{name}.md": render_macro(macro) for name, macro in MACROS.items()},
    }


def main() -> None:
    """Write the files that are not current."""
    for path, text in targets().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(DOCS.parent)}\n")


if __name__ == "__main__":
    main()
