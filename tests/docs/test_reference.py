"""The reference is current and complete, and no page names what does not exist."""

import importlib.util
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from gitnexus.app.tools import TOOLS
from gitnexus.base import errors
from gitnexus.base.tool import input_schema_of
from gitnexus.main import COMMANDS
from gitnexus.ui.commands import build_root_command
from gitnexus.ui.errors import BUG, INTERRUPTED

ROOT = Path(__file__).parents[2]
COMMANDS_PAGE = ROOT / "docs" / "reference" / "commands.md"
MAN_PAGE = ROOT / "docs" / "man" / "git-nexus.1"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# The parts of a page where a command is meant to be typed: a code span, a line of a script or config, a prompt.
SPAN = re.compile(r"`(git nexus [^`\n]+)`")
CALL = re.compile(r"git (?:-C \S+ )?nexus ([^`|;&)}#\n]*)")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "reference" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and everything below it."""
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            yield from tree(below, (*path, name))


ALL = dict(tree(build_root_command(COMMANDS), ()))


def options_of(command: click.Command) -> set[str]:
    return {
        name
        for param in command.params
        if isinstance(param, click.Option)
        for name in param.opts + param.secondary_opts
    } | {"-h", "--help"}


def calls(text: str) -> Iterator[str]:
    """Yield what stands after `git nexus` wherever a page shows it as something to type."""
    inside = None
    for line in text.splitlines():
        if line.startswith("```"):
            inside = None if inside is not None else line[3:].strip()
        elif inside is None:
            yield from (call for span in SPAN.findall(line) for call in CALL.findall(span))
        elif inside != "json" and (inside != "console" or line.startswith("$ ")):
            yield from CALL.findall(line)


def what_is_wrong(call: str) -> str | None:
    """Return why a command line cannot be typed as it stands, or None."""
    path: tuple[str, ...] = ()
    for word in shlex.split(call.replace("'", " ").replace('"', " ")):
        if word == "--":  # what follows is somebody else's command
            return None
        if word.startswith("-") and word != "-":
            known = options_of(ALL[path]) | options_of(ALL[()])
            name = word.split("=")[0]
            if name not in known and re.sub(r"\d+$", "", name) not in known:
                return f"git nexus {' '.join(path)} has no option {name}"
        elif (*path, word) in ALL:
            path = (*path, word)
        elif isinstance(ALL[path], click.Group) and re.fullmatch(r"[a-z-]+", word):
            return f"git nexus {' '.join(path)} has no command {word}"
    return None


def test_the_generated_pages_are_what_the_commands_say_now() -> None:
    for path, text in generator().targets().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is not current: run make docs"


@pytest.mark.parametrize("path", [path for path in ALL if path], ids=" ".join)
def test_every_command_and_option_is_in_the_reference_and_in_the_manual(path: tuple[str, ...]) -> None:
    page = COMMANDS_PAGE.read_text(encoding="utf-8")
    manual = re.sub(r"\\f[BIR]", "", MAN_PAGE.read_text(encoding="utf-8").replace("\\-", "-"))
    name = "git nexus " + " ".join(path)
    params = [param for param in ALL[path].params if not getattr(param, "hidden", False)]

    section = page.partition(f"### `{name}`\n")[2].partition("\n### ")[0]
    chapter = re.split(rf"^\.SS {name}(?= |$)", manual, flags=re.MULTILINE)[-1].partition("\n.S")[0]
    common = page.partition("## Options of every command")[2].partition("\n## ")[0]
    common_manual = manual.partition(".SH OPTIONS")[2].partition("\n.SH")[0]

    assert section, f"{name} is not in commands.md"
    assert re.search(rf"^\.SS {name}(?= |$)", manual, re.MULTILINE), f"{name} is not in the manual"
    for param in params:
        shown = (getattr(param, "metavar", None) or param.name or "").upper().strip("[]…")
        words = param.opts if isinstance(param, click.Option) else [shown]
        for word in words:
            exact = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
            assert exact.search(section + common), f"{name} {word} is not in commands.md"
            assert exact.search(chapter + common_manual), f"{name} {word} is not in the manual"


def test_a_page_names_only_commands_and_options_that_exist() -> None:
    wrong = [
        (page, reason)
        for page in PAGES
        for call in calls(page.read_text(encoding="utf-8"))
        if (reason := what_is_wrong(call))
    ]

    assert wrong == []


def test_the_check_of_names_would_notice_a_command_or_an_option_that_is_not_there() -> None:
    text = (
        "`git nexus statsu` and `git nexus log --deep`\n```sh\ngit nexus hooks remove\ngit nexus log -n5 memory\n```\n"
    )

    assert [what_is_wrong(call) for call in calls(text)] == [
        "git nexus  has no command statsu",
        "git nexus log has no option --deep",
        "git nexus hooks has no command remove",
        None,
    ]


def test_every_tool_and_parameter_is_on_the_page_of_tools_with_its_effect() -> None:
    page = (ROOT / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    contract = (ROOT / "docs" / "reference" / "tool-contract.md").read_text(encoding="utf-8")

    assert re.findall(r"^### `(\w+)`$", page, re.MULTILINE) == list(TOOLS)
    for tool in TOOLS.values():
        section = page.partition(f"### `{tool.name}`\n")[2].partition("\n### ")[0]
        rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        assert rows == list(input_schema_of(tool)["properties"]), tool.name
        assert ("*Reads only.*" in section) == tool.reads_only
        assert ("*Destructive.*" in section) == tool.destructive
        assert f"`{tool.name}`" in contract, f"{tool.name} is not in tool-contract.md"


def test_every_exit_status_is_explained_in_the_reference_and_in_the_manual() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    manual = MAN_PAGE.read_text(encoding="utf-8").partition(".SH EXIT STATUS")[2]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.NexusError)]

    for kind in kinds:
        assert re.search(rf"^\| {kind.code} \|.*`{kind.name}`", page, re.MULTILINE), kind
    for code in {0, BUG, INTERRUPTED, *(kind.code for kind in kinds)}:
        assert f"| {code} |" in page
        assert f"\\fB{code}\\fR" in manual


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man on PATH: install it, apt install man-db")
def test_the_manual_renders_without_a_warning() -> None:
    done = subprocess.run(["man", "--warnings", "-l", str(MAN_PAGE)], capture_output=True, text=True, check=False)

    if "minimized" in done.stdout or "unrecognized option" in done.stderr or "illegal option" in done.stderr:
        pytest.skip(
            "this man cannot render a file: a minimized system has a stand-in for it, unminimize brings man-db back"
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "git-nexus" in done.stdout
