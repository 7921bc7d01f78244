"""git nexus prompt as a person types it; whose settings and words count; and what is loaded for it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitnexus import __version__
from gitnexus.app import open_nexus
from gitnexus.base.errors import Failed, Invalid
from gitnexus.prompts import Prompter
from gitnexus.prompts.in_project import open_prompter
from gitnexus.prompts.model import ResearchBundle
from gitnexus.prompts.settings import Via, parse_prompt_settings
from gitnexus.prompts.words import builtin_prompt_files
from tests.conftest import Nexus, trust
from tests.prompts.stub import Stub, served
from tests.prompts.test_contract import GIVEN, GOOD
from tests.rows import few_fast


def configure(place: Path, stub: Stub, **more: Any) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"prompts": {"endpoint": {"url": stub.url, "model": "small"}, **more}}))


def ask(place: Path, via: Via) -> None:
    opened = open_nexus(place)
    open_prompter(opened.state, via).call("Research", GIVEN["Research"], ResearchBundle)
    opened.close()


@pytest.mark.parametrize("via", few_fast(["baml", "pydantic-ai"]))
def test_a_person_asks_a_function(project: Path, nexus: Nexus, sealed: Path, via: str) -> None:
    with served({"question": "q"}, GOOD["Research"]) as stub:
        configure(sealed / "nexus/settings.json", stub)
        done = nexus("prompt", "call", "Research", json.dumps(GIVEN["Research"]), "--via", via, "--json")

    told = json.loads(done.stdout)
    assert (told["output"], told["via"], told["attempts"]) == (GOOD["Research"], via, 2)
    assert told["tokens"] == {"input": 200, "output": 40}


def test_functions_are_listed_and_shown(project: Path, nexus: Nexus) -> None:
    rows = json.loads(nexus.ok("prompt", "list", "--json"))["prompts"]
    shown = json.loads(nexus.ok("prompt", "show", "ExecStep", "--json"))

    assert [row["name"] for row in rows] == [
        "RoutePrompt",
        "Research",
        "MakePlan",
        "PlanPatch",
        "ExecStep",
        "AgendaPatch",
    ]
    assert shown["output"]["required"] == ["status", "summary"]
    assert "{{ context_pack }}" in shown["text"]
    assert nexus("prompt", "show", "Nope").returncode == 4
    assert nexus("prompt", "call", "Research", "[]").returncode == 6
    refused = nexus("prompt", "call", "Research", '{"question": "q"}')
    assert (refused.returncode, "no model is set for Research" in refused.stderr) == (1, True)


def test_settings_of_a_project_name_a_server_only_when_signed(project: Path, nexus: Nexus) -> None:
    with served(GOOD["Research"]) as stub:
        configure(project / ".nexus/settings.json", stub)
        refused = nexus("prompt", "call", "Research", '{"question": "q"}')
        asked = len(stub.asked)
        trust(project)
        nexus.ok("prompt", "call", "Research", '{"question": "q"}')

    assert (refused.returncode, asked) == (1, 0)
    assert "prompts of the project's settings does not count" in refused.stderr


@pytest.mark.slow
def test_words_of_a_project_count_only_when_signed(project: Path, nexus: Nexus, sealed: Path) -> None:
    words = builtin_prompt_files()["research.baml"].replace("You are a researcher.", "You are a pirate.")
    (project / ".nexus/baml").mkdir()
    (project / ".nexus/baml/research.baml").write_text(words)
    with served(GOOD["Research"]) as stub:
        configure(sealed / "nexus/settings.json", stub)
        first = nexus("prompt", "call", "Research", '{"question": "q"}')
        trust(project)
        ask(project, "baml")
        ask(project, "pydantic-ai")
        (project / ".nexus/baml/research.baml").write_text(words.replace("pirate", "parrot"))
        ask(project, "baml")

    assert ".nexus/baml/research.baml does not count: nobody signed it" in first.stderr
    assert ["pirate" in prompt for prompt in stub.prompts] == [False, True, True, False]
    assert not any("parrot" in prompt for prompt in stub.prompts)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"endpoint": {"url": "ftp://x", "model": "m"}}, "should begin with http"),
        ({"endpoint": {"url": "http://example.com/v1", "model": "m"}}, "only a server on this machine"),
        ({"endpoint": {"url": "https://me:pw@example.com/v1", "model": "m"}}, "no name, password"),
        ({"endpoint": {"url": "https://example.com/v1?key=1", "model": "m"}}, "no name, password"),
        ({"endpoint": {"url": "https://example.com:99999/v1", "model": "m"}}, "url"),
        ({"endpoint": {"url": "https://example.com/v1"}}, "model should name"),
        ({"endpoint": {"url": "https://example.com/v1", "model": "m", "keyEnv": "sk-abc"}}, "name of a variable"),
        ({"endpoint": {"url": "https://example.com/v1", "model": "m", "key": "sk-abc"}}, "key is not known"),
        ({"endpoint": {"url": "https://example.com/v1", "model": "m", "seconds": 0}}, "seconds"),
        ({"endpoint": {"url": "https://example.com/v1", "model": "m", "usdPerMillionIn": -1}}, "price"),
        ({"functions": {"Nope": {}}}, "Nope is none"),
        ({"functions": {"Research": {"url": "http://example.com", "model": "m"}}}, "functions: Research"),
        ({"retries": 9}, "retries"),
        ({"via": "curl"}, "via should be one of"),
    ],
)
def test_settings_that_break_a_rule_are_refused(value: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        parse_prompt_settings(value)


@pytest.mark.parametrize(
    ("via", "library", "extra"), [("baml", "baml_py", "baml"), ("pydantic-ai", "pydantic_ai", "llm")]
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    via: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with served("empty") as stub, pytest.raises(Failed) as refused:
        settings = parse_prompt_settings({"via": via, "endpoint": {"url": stub.url, "model": "m"}})
        Prompter(settings).call("Research", GIVEN["Research"], ResearchBundle)

    assert refused.value.fix == f"pip install 'git-nexus[{extra}]=={__version__}'"
    assert stub.asked == []


def test_no_model_library_is_loaded_before_one_is_asked(project: Path) -> None:
    code = (
        "import sys, gitnexus.prompts.in_project, gitnexus.runs.workflow.packs;"
        "import gitnexus.cli.prompt.call, gitnexus.cli.prompt.list, gitnexus.cli.pack.build;"
        "from gitnexus.prompts import FUNCTIONS;"
        "heavy = ('baml_py', 'pydantic_ai', 'openai', 'httpx2', 'anthropic', 'google.genai');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
