"""Checks of the source itself: floors, import cycles, names, sizes, and where an import may stand inside a function.

`pytest -s -k figures tests/test_house.py` prints how long names are on average and how long the package is.
"""

import ast
import gc
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gitnexus"
MODULES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted(path.stem for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists())
# Rooms inside a room, which have their folder inside of that room's tests.
INNER_ROOMS = ("runs/actions", "runs/agent", "runs/cleanup", "runs/landing", "runs/workflow")
# Folders of tests that are about no room or about all of them; `data` holds no tests.
TESTS_OF_NO_ROOM = frozenset({"attacks", "crash", "data", "docs", "slow", "stories"})
LONGEST_MODULE = 400
LEAST_WORDS = 1.9
MOST_PARTICIPLES = 0.08

Function = ast.FunctionDef | ast.AsyncFunctionDef

# The first word of a function that returns nothing. A new one is added here after a look whether it is a verb.
VERBS = frozenset(
    """
    accept add admit adopt allow answer append apply approve arrange ask become begin bind break bring carry change
    check checkpoint choose clear close collect compact complete continue copy count cover create cut delete detect
    discard do draw drop edit emit empty encrypt end ensure enter execute exit export extend fail feed fetch fill
    filter find finish fit focus fold follow forget format give hand handle hear hold ignore insert install issue
    join keep kill leave let limit link lock log look make map mark mend merge migrate mount move note offer open parse
    permit pin place play post print probe propose prune publish pull push put queue raise read rebuild recompute record
    redact redirect redraw refresh refuse register release reload remember remove rename renumber replace report
    require reset rest restart restore restrict resume reveal rewrite run save say send serve set settle shield
    shorten show signal silence skip spend start stop store supervise swap sync take talk tell touch trash undo
    unregister unset unshallow unshare unshield update verify void wait warn watch weigh work write
    """.split()
)
# Words of an earlier plan that said nothing to a reader; the glossary has the plain ones.
BANNED_WORDS = frozenset("bench court deed desk door hatch law mail purse shelf sights speech voice wire".split())
# Words that are a participle and do not end in -ed.
IRREGULAR_PARTICIPLES = frozenset(
    """
    begun bought bound broken brought built caught chosen done drawn felt found given gone held hidden kept known laid
    led lent lost made meant met paid said seen sent shown sought spent spoken stood sworn taken taught thought told
    understood went won worn written
    """.split()
)
NOT_PARTICIPLES = frozenset("embed exceed feed need red seed shared shed signed speed".split())

# Imports inside functions stand in these files and in no other.
# A package hands out names of its modules when they are asked for, so that importing one of them does not import all.
LAZY_PACKAGES = frozenset(
    """
    app/__init__.py catalog/__init__.py cycle/__init__.py git/__init__.py memory/__init__.py redaction/__init__.py
    state/__init__.py workflow/schemas/__init__.py
    """.split()
)
# A third-party library that takes long to load, and only for some calls.
HEAVY_LIBRARIES = frozenset(
    """
    base/canonical.py base/globs.py catalog/yamltext.py conformance/mcpserver.py docgraph/frontmatter.py
    docgraph/parse.py gateway/tools/read.py git/walk.py harness/changed_files.py policy/machine.py
    policy/patterns.py prompts/library_chat.py prompts/viabaml.py prompts/viapydantic.py redaction/known.py
    redaction/rule.py redaction/words.py tui/colouring.py workflow/embedded/outline.py
    """.split()
)
# Loaded by hooks, which a program waits for at each call: an import that the usual call does not need is put off.
HOOK_PATH = frozenset(
    """
    events/artifacts.py events/kinds.py git/exchange.py git/loose.py git/native.py git/object_access.py git/objects.py
    git/plumbing.py git/private.py harness/calls.py harness/guidance.py harness/pending_messages.py
    harness/post_tool_use.py harness/toollog.py harness/touched.py hooks/command.py hooks/harness.py
    hooks/harness_message.py hooks/harness_session.py hooks/harness_subagents.py hooks/lifecycle.py main.py
    policy/compiled_rules.py policy/edit.py policy/gatekeeper.py policy/keys.py policy/programs.py policy/rules.py
    policy/signed.py policy/trust.py redaction/hide.py redaction/values.py state/home.py state/merge.py
    state/secrets.py state/swap.py toolgate/approvals.py toolgate/cache.py toolgate/context.py toolgate/fast_path.py
    toolgate/gate.py toolgate/judge.py toolgate/roles.py
    """.split()
)
# Loaded by short commands: what only some of their uses need is imported by those.
SHORT_COMMANDS = frozenset(
    """
    adapters/protocol.py adapters/script.py app/catalog.py app/close_cycle.py app/doctor.py app/doctor_settings.py
    app/init.py app/message_tags.py app/notes.py app/sandbox_level.py app/status.py app/uninstall.py backlog/cleo.py
    backlog/cleo_offer.py backlog/model.py backlog/store.py catalog/catalog.py catalog/open.py cli/graph/graph.py
    cli/hooks/worktree.py cli/init.py cli/permissions.py cli/policy/add.py cli/policy/signing.py cli/run/approve.py
    cli/run/decisions.py cli/run/handover.py cli/run/run.py cli/run/workflow_choice.py cli/sync.py
    cli/task/elsewhere.py cli/tool.py cli/worker.py cycle/table.py gateway/assemble.py gateway/explain.py
    mcp/command.py projects/model.py projects/network.py projects/open_backlog.py projects/open_project.py
    projects/open_state.py projects/other_tasks.py runs/actions/card.py runs/actions/execute.py
    runs/agent/live_request.py runs/agent/run.py runs/command_rules.py runs/drive.py runs/landing/land.py
    runs/landing/pull_request.py runs/lost_steps.py runs/open_run.py runs/start.py runs/steps.py
    runs/workflow/agent_node.py runs/workflow/routing.py runs/workflow/skills.py runs/workflow/specialists.py
    runs/workflow/stage.py sync/run_refs.py sync/stopped_runs.py sync/sync.py tui/card_actions.py tui/chat.py
    tui/command.py tui/project_data.py ui/approval_prompt.py ui/backlog.py ui/commands.py ui/edit_patch.py
    ui/errors.py ui/output.py ui/run.py ui/runs.py ui/standpoint.py ui/workflow.py workflow/model_specialist.py
    workflow/routing.py
    """.split()
)


WORD = re.compile(r"[A-Za-z]\w+")


@cache
def text_of(module: Path) -> str:
    return module.read_text()


@cache
def parsed(module: Path) -> ast.Module:
    tree = ast.parse(text_of(module))
    gc.freeze()  # nothing of a tree is garbage, and looking for it again and again takes as long as parsing
    return tree


@cache
def nodes_of(module: Path) -> tuple[ast.AST, ...]:
    """Return the functions, imports and conditions of a module, as deep as they stand."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.If)
    return tuple(node for node in ast.walk(parsed(module)) if isinstance(node, kinds))


def name_of(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def dotted_name(module: Path) -> str:
    return ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def contracts() -> list[dict[str, object]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    found: list[dict[str, object]] = settings["contracts"]
    return found


def functions() -> Iterator[tuple[Path, Function]]:
    for module in MODULES:
        for node in nodes_of(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                yield module, node


def words_of(name: str) -> list[str]:
    return [word for word in name.split("_") if word]


def is_participle(name: str) -> bool:
    first = words_of(name)[0]
    return first in IRREGULAR_PARTICIPLES or (first.endswith("ed") and first not in NOT_PARTICIPLES)


def returns_nothing(function: Function) -> bool:
    return function.returns is not None and ast.unparse(function.returns) in ("None", "NoReturn")


def is_command(function: Function) -> bool:
    """True for the function of a command: it has the command's name, and its file is found by the command's path."""
    return any(re.search(r"\.(command|group)\b", ast.unparse(one)) for one in function.decorator_list)


def is_named_by_others(function: Function) -> bool:
    """True for a name that a command, an event, a library or an attribute gives."""
    decorators = " ".join(ast.unparse(one) for one in function.decorator_list)
    return (
        function.name == "main"
        or function.name.lstrip("_").startswith(("on_", "action_"))
        or re.search(r"\.(command|group|argument|option|setter)\b|\bclick\.|property|contextmanager", decorators)
        is not None
    )


@cache
def imports_of(module: Path) -> frozenset[str]:
    """Return the modules of the package that one imports, anywhere but for types alone."""
    for_types = {
        id(inner)
        for node in nodes_of(module)
        if "TYPE_CHECKING" in text_of(module) and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found = set()
    for node in nodes_of(module):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in for_types:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def imports_inside_functions(module: Path) -> set[str]:
    found: set[str] = set()
    if not re.search(r"^\s+(from|import)\s", text_of(module), re.MULTILINE):
        return found
    for function in nodes_of(module):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    found.add(str(node.module))
                elif isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
    return found


def test_the_floors_name_every_room() -> None:
    layers = contracts()[0]["layers"]

    named = {word.strip(" ()") for layer in layers for word in layer.split("|")}  # type: ignore[attr-defined]

    assert named == {*ROOMS, "main", "web"}


def test_the_map_of_contributing_shows_the_floors() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    layers: list[str] = contracts()[0]["layers"]  # type: ignore[assignment]

    rows = re.findall(r"^\| (\d+) \| (.*?) \|", page, re.MULTILINE)

    assert [int(number) for number, _ in rows] == list(range(len(layers), 0, -1))
    assert [re.findall(r"`(\w+)`", rooms) for _, rooms in rows] == [
        [word.strip(" ()") for word in layer.split("|")] for layer in layers
    ]


def test_pages_for_developers_name_only_files_that_are_there() -> None:
    places = r"`((?:gitnexus/)?(?:githooks|conformance|docs|tests|{})/[\w./-]+\.py)`".format("|".join(ROOMS))
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "docs/explanation/architecture.md", *(ROOT / "docs/decisions").iterdir()]

    missing = {
        f"{page.name}: {place}"
        for page in pages
        for place in re.findall(places, page.read_text())
        if not (ROOT / place).exists() and not (PACKAGE / place).exists()
    }

    assert missing == set()


def test_every_room_but_its_owner_is_forbidden_pygit2_and_gitpython() -> None:
    forbidden = {str(name) for name in contracts()[1]["source_modules"]}  # type: ignore[attr-defined]

    assert forbidden == {f"gitnexus.{room}" for room in ROOMS if room != "git"} | {"gitnexus.main"}


def test_every_room_below_the_surfaces_is_forbidden_click() -> None:
    forbidden = {str(name) for name in contracts()[2]["source_modules"]}  # type: ignore[attr-defined]

    assert forbidden == {f"gitnexus.{room}" for room in ROOMS if room not in ("cli", "hooks", "mcp", "tui", "ui")}


def test_no_module_imports_itself_by_way_of_others() -> None:
    by_name = {dotted_name(module): module for module in MODULES if module.stem != "__init__"}
    left = {name: (imports_of(module) & by_name.keys()) - {name} for name, module in by_name.items()}

    # Whoever imports nothing that is left is in no cycle, and then whoever imports only such modules.
    while free := {name for name, imports in left.items() if not imports & left.keys()}:
        for name in free:
            del left[name]

    assert {name: sorted(imports & left.keys()) for name, imports in left.items()} == {}


def test_imports_inside_functions_stand_in_listed_files_only() -> None:
    listed = [*LAZY_PACKAGES, *HEAVY_LIBRARIES, *HOOK_PATH, *SHORT_COMMANDS]

    found = {name_of(module) for module in MODULES if imports_inside_functions(module)}

    assert len(listed) == len(set(listed))
    assert found == set(listed)


def test_no_module_of_the_hook_path_is_about_documents() -> None:
    about_documents = {
        name_of(module)
        for module in MODULES
        if any(name.split(".")[0] == "pydantic" or name == "gitnexus.base.document" for name in imports_of(module))
    }

    # tests/cli/test_light_commands.py runs hooks and plain commands and looks; this names the file.
    assert about_documents & HOOK_PATH == set()
    assert "base/record.py" not in about_documents and "base/document.py" in about_documents


def test_what_is_put_off_as_a_heavy_library_is_one() -> None:
    for name in HEAVY_LIBRARIES:
        put_off = {one.partition(".")[0] for one in imports_inside_functions(PACKAGE / name)}
        assert put_off & {"gitnexus", *sys.stdlib_module_names} == set(), name


def test_what_returns_nothing_is_named_by_a_verb() -> None:
    wrong = [
        f"{name_of(module)}:{function.lineno} {function.name}"
        for module, function in functions()
        if returns_nothing(function) and not is_named_by_others(function) and words_of(function.name)[0] not in VERBS
    ]

    assert wrong == []


def test_no_name_has_a_banned_word() -> None:
    suspects = [module for module in MODULES if any(map(_is_banned, {module.stem, *WORD.findall(text_of(module))}))]
    named = {(name_of(one), name) for one in suspects for name in (one.stem, *map(_bound_name, ast.walk(parsed(one))))}

    assert {f"{module}: {name}" for module, name in named if _is_banned(name)} == set()


@cache
def _is_banned(name: str) -> bool:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return any(word.lower().removesuffix("s") in BANNED_WORDS for word in words)


def _bound_name(node: ast.AST) -> str:
    """Return the name that a node binds, "" if it binds none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def test_a_public_class_name_is_used_once_and_a_public_function_name_in_three_modules_at_most() -> None:
    classes, public = defaultdict(list), defaultdict(list)
    for module in MODULES:
        for node in parsed(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(name_of(module))
            elif isinstance(node, Function) and not node.name.startswith("_") and not is_command(node):
                public[node.name].append(name_of(module))

    assert {name: where for name, where in classes.items() if len(where) > 1} == {}
    assert {name: where for name, where in public.items() if len(where) > 3 and not name.startswith("__")} == {}


def test_figures_of_names_and_length() -> None:
    names = [function.name for _, function in functions() if words_of(function.name)]

    words = sum(len(words_of(name)) for name in names) / len(names)
    participles = sum(map(is_participle, names)) / len(names)
    lines = sum(len(module.read_text().splitlines()) for module in MODULES)

    print(f"\n{len(names)} functions, {words:.2f} words a name, {participles:.1%} participles")
    print(f"{len(MODULES)} modules, {lines} lines, {lines / len(MODULES):.0f} a module")
    assert words >= LEAST_WORDS
    assert participles <= MOST_PARTICIPLES


def test_every_module_begins_with_a_line_that_says_what_it_does_and_stays_small() -> None:
    for module in MODULES:
        text = module.read_text()
        assert re.match(r'r?"""\S', text), f"{module} does not begin with a line that says what it does"
        assert len(text.splitlines()) <= LONGEST_MODULE, f"{module} is longer than {LONGEST_MODULE} lines"


def test_the_formatter_is_kept_out_of_tables_alone() -> None:
    wrong = []
    for module in MODULES:
        if "fmt: skip" not in text_of(module):
            continue
        tables = {node.end_lineno for node in parsed(module).body if isinstance(node, ast.Assign | ast.AnnAssign)}
        lines = enumerate(text_of(module).splitlines(), 1)
        wrong += [f"{name_of(module)}:{at}" for at, line in lines if "fmt: skip" in line and at not in tables]

    assert wrong == []


def test_the_folders_of_tests_are_the_rooms() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if (path / "__init__.py").exists()}
    inner = {
        str(path.parent.relative_to(ROOT / "tests"))
        for path in (ROOT / "tests").rglob("__init__.py")
        if len(path.relative_to(ROOT / "tests").parts) > 2
    }

    assert folders - TESTS_OF_NO_ROOM == set(ROOMS)
    assert [folder for folder in sorted(inner) if not (PACKAGE / folder / "__init__.py").exists()] == []
    assert [room for room in INNER_ROOMS if room not in inner] == []


def test_no_module_has_a_homeless_name() -> None:
    homeless = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}

    assert [module for module in MODULES if module.stem in homeless] == []


def test_each_command_is_one_file_named_after_it() -> None:
    for module in sorted((PACKAGE / "cli").rglob("*.py")):
        named = [
            call.args[0].value.replace("-", "_")  # type: ignore[attr-defined]
            for function in ast.parse(module.read_text()).body
            if isinstance(function, ast.FunctionDef)
            for call in function.decorator_list
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "click.command"
        ]
        # `import_.py`: a module cannot be called import
        assert named in ([], [module.stem.removesuffix("_")]), f"{module} holds {named}"


def test_a_table_of_commands_names_the_file_of_each() -> None:
    for table in [PACKAGE / "main.py", *(PACKAGE / "cli").rglob("__init__.py")]:
        for _, name, place, _ in _command_rows(table):
            if not place.startswith("gitnexus.cli."):
                continue
            module = place.partition(":")[0]
            assert module.rpartition(".")[2].removesuffix("_") == name.replace("-", "_"), f"{table}: {name} is {place}"
            if table.name == "__init__.py":
                assert module.rpartition(".")[0].replace(".", "/") == str(table.parent.relative_to(ROOT))


def test_a_table_says_of_a_command_what_its_own_first_sentence_says() -> None:
    for table in (PACKAGE / "cli").rglob("__init__.py"):
        for section, name, place, line in _command_rows(table):
            path, _, function = place.partition(":")
            module = (ROOT / path.replace(".", "/")).with_suffix(".py")
            if section != "Commands" or not module.exists():  # task words its lines anew; a group has its own table
                continue
            (found,) = (node for node in ast.parse(module.read_text()).body if getattr(node, "name", "") == function)
            words = " ".join((ast.get_docstring(found) or "").split())  # type: ignore[arg-type]
            assert words == line or words.startswith(f"{line} "), (
                f"{table}: the line of {name} is not its first sentence"
            )


def _command_rows(table: Path) -> list[tuple[str, str, str, str]]:
    found = []
    for row in (node for node in ast.walk(ast.parse(table.read_text())) if isinstance(node, ast.Tuple)):
        words = [item.value for item in row.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if len(words) == 4 and ":" in words[2]:
            found.append((words[0], words[1], words[2], words[3]))
    return found


def test_broad_excepts_live_at_the_doors_only() -> None:
    found = [name_of(module) for module in MODULES if "BLE001" in module.read_text()]

    assert found == ["hooks/harness.py", "hooks/lifecycle.py", "main.py", "ui/run.py"]


def test_the_top_level_holds_only_what_was_decided() -> None:
    decided = {
        *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", ".ci", "gitnexus"),
        *("githooks", "tests", "conformance", "benchmarks", "docs", ".gitignore", ".pre-commit-hooks.yaml"),
    }
    made = {".git", ".venv", ".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".import_linter_cache"}

    assert {path.name for path in ROOT.iterdir()} - made == decided
