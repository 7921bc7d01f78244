"""Loads the prompt files (ours, overlaid by the project's) and renders one prompt as messages."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import dedent

from gitnexus.base.errors import Invalid
from gitnexus.prompts.functions import FUNCTIONS, PromptFunction

FOLDER = "baml"
SUFFIX = ".baml"
LARGEST = 64 * 1024
FEEDBACK = "feedback"
# A project's folder may contain the files of functions. Types follow from records, the client from settings.
NAMES = tuple(dict.fromkeys(one.file for one in FUNCTIONS.values()))
_EXPRESSION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_ROLE = re.compile(r"_\.role\(\s*[\"'](system|user)[\"']\s*\)")
_FORM = "ctx.output_format"


@cache
def builtin_prompt_files() -> dict[str, str]:
    """Return the built-in files by name."""
    folder = Path(__file__).parent / FOLDER
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"*{SUFFIX}"))}


def overlay_prompt_files(given: Mapping[str, bytes]) -> dict[str, str]:
    """Return the built-in files with a project's files in their place. Raises: Invalid."""
    files = dict(builtin_prompt_files())
    for name, raw in given.items():
        where = f".nexus/{FOLDER}/{name}"
        if name not in NAMES:
            raise Invalid(f"{where} is not a prompt file", hint=f"there are: {', '.join(NAMES)}")
        if len(raw) > LARGEST:
            raise Invalid(f"{where} is larger than {LARGEST // 1024} KiB")
        try:
            files[name] = raw.decode("utf-8")
        except UnicodeDecodeError as exc:
            raise Invalid(f"{where}: byte {exc.start} is not UTF-8") from exc
        for function in FUNCTIONS.values():
            if function.file == name:
                prompt_template(files, function)
    return files


def prompt_template(files: Mapping[str, str], function: PromptFunction) -> str:
    """Return the template of a function. Raises: Invalid if the file has none, or if it lacks an input."""
    where = f"{function.file}: {function.name}"
    found = re.search(
        rf"^function\s+{function.name}\s*\(([^)]*)\)\s*->\s*(\w+)\s*\{{", files[function.file], re.MULTILINE
    )
    if found is None:
        raise Invalid(f"{where}: there is no such function")
    wanted = [*function.inputs.__annotations__, FEEDBACK]
    taken = [part.split(":")[0].strip() for part in found[1].split(",") if part.strip()]
    if taken != wanted or found[2] != function.output.__name__:
        raise Invalid(
            f"{where} should be ({', '.join(f'{one}: string' for one in wanted)}) -> {function.output.__name__}"
        )
    body = files[function.file][found.end() :]
    body = body[: next(iter(re.finditer(r"^function\s", body, re.MULTILINE)), re.search(r"\Z", body)).start()]  # type: ignore[union-attr]
    prompt = re.search(r'prompt\s+#"(.*?)"#', body, re.DOTALL)
    if prompt is None:
        raise Invalid(f"{where}: it has no prompt")
    text = dedent(prompt[1])
    for one in (*wanted, _FORM):
        if not re.search(rf"\{{\{{\s*{re.escape(one)}\s*\}}\}}", text):
            raise Invalid(f"{where}: the prompt leaves out {{{{ {one} }}}}")
    return text


def render_messages(
    files: Mapping[str, str], function: PromptFunction, args: Mapping[str, str], form: str
) -> list[dict[str, str]]:
    """Return the prompt as messages, without BAML: its braces may contain only input names, roles and the form.

    Raises: Invalid for a template that only BAML can render.
    """
    text = prompt_template(files, function)
    if "{%" in text or "{#" in text:
        raise _only_baml_error(function)
    found: list[dict[str, str]] = []
    at = 0
    for one in _EXPRESSION.finditer(text):
        _append_text(found, text[at : one.start()])
        word = one[1].strip()
        if role := _ROLE.fullmatch(word):
            found.append({"role": role[1], "content": ""})
        elif word == _FORM:
            _append_text(found, form)
        elif word in args:
            _append_text(found, args[word])
        else:
            raise _only_baml_error(function)
        at = one.end()
    _append_text(found, text[at:])
    return [{**one, "content": one["content"].strip()} for one in found if one["content"].strip()]


def _append_text(found: list[dict[str, str]], text: str) -> None:
    if not found:
        found.append({"role": "user", "content": ""})
    found[-1]["content"] += text


def _only_baml_error(function: PromptFunction) -> Invalid:
    return Invalid(
        f"{function.file}: {function.name}: its prompt uses what only BAML understands",
        hint='set prompts.via to "baml", or keep to {{ names }}, {{ _.role("user") }} and {{ ctx.output_format }}',
    )
