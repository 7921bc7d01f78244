"""Asks a model through BAML, which renders the messages and parses the answer leniently; the HTTP request is ours."""

import re
import types
from functools import cache
from typing import TYPE_CHECKING, Any

from gitnexus.base.document import json_schema_body
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.prompts.chat import UnusableReply
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.functions import FUNCTIONS
from gitnexus.prompts.protocol import PromptQuestion, missing_library_error

if TYPE_CHECKING:
    from baml_py import BamlRuntime

_ROOT = "baml"
_ATOMS = {"string": "string", "integer": "int", "boolean": "bool"}
_REASON = re.compile(r'reason: "((?:[^"\\]|\\.)*)"')


class ViaBaml:
    """baml-py without generated code: builds a runtime from the files, and returns plain values."""

    name = "baml"

    def ask(self, question: PromptQuestion, connection: ModelConnection) -> Any:
        try:
            from baml_py import BamlRuntime, ClientRegistry  # 60 to 130 ms, and an extra: only who asks pays
            from baml_py.baml_py import BamlError
        except ImportError as exc:
            raise missing_library_error("baml", "baml-py") from exc
        _silence_baml_log()
        runtime = _baml_runtime(tuple(sorted(question.files.items())))
        assert isinstance(runtime, BamlRuntime)  # noqa: S101
        registry = ClientRegistry()
        # The name appears only in its own reports: the connection decides where the request goes.
        registry.add_llm_client(
            "Settings", "openai-generic", {"model": connection.endpoint.model, "base_url": "http://unused"}
        )
        registry.set_primary("Settings")
        context = runtime.create_context_manager()
        name = question.function.name
        try:
            # No variable of the environment is given: a template that asks for one gets none.
            request = runtime.build_request_sync(name, dict(question.args), context, None, registry, {}, False)
            sent = request.body.json()["messages"]
        except BamlError as exc:
            raise Invalid(f"{question.function.file}: {name}: {_reason_of_error(exc)}") from exc
        connection.ask(sent)
        plain = types.ModuleType("plain")  # classes that it does not find there stay plain values
        try:
            return runtime.parse_llm_response(
                name, connection.said, plain, plain, plain, False, context, None, registry, {}
            )
        except BamlError as exc:
            raise UnusableReply(f"it does not have the form: {_reason_of_error(exc)}", connection.said) from exc


@cache
def _silence_baml_log() -> None:
    from baml_py.baml_py import set_log_level

    set_log_level("OFF")  # it would print whole prompts


@cache
def _baml_runtime(files: tuple[tuple[str, str], ...]) -> "BamlRuntime":
    """Return a runtime for the files, with the classes of all answers. Raises: Invalid."""
    from baml_py import BamlRuntime
    from baml_py.baml_py import BamlError

    texts = {f"{_ROOT}/{name}": text for name, text in files}
    texts[f"{_ROOT}/types.baml"] = render_baml_types()
    try:
        return BamlRuntime.from_files(_ROOT, texts, {})
    except BamlError as exc:
        raise Invalid(f"the prompts are not valid BAML: {_reason_of_error(exc)}") from exc


def render_baml_types() -> str:
    """Return the classes of all answers, as BAML."""
    classes: dict[str, str] = {}
    for function in FUNCTIONS.values():
        schema = json_schema_body(function.output)
        for name, form in {function.output.__name__: schema, **schema.get("$defs", {})}.items():
            classes[name] = _baml_class(name, form)
    return "\n".join(classes[name] for name in sorted(classes))


def _baml_class(name: str, schema: dict[str, Any]) -> str:
    rows = []
    for field, value in schema["properties"].items():
        # BAML treats a missing list as empty; any other field has to be declared optional.
        optional = field not in schema.get("required", ()) and value.get("type") != "array"
        rows.append(f"  {field} {_baml_type(value)}{'?' if optional else ''}")
    return "\n".join([f"class {name} {{", *rows, "}", ""])


def _baml_type(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": ref}:
            return str(ref).rpartition("/")[2]
        case {"enum": values}:
            return "(" + " | ".join(f'"{value}"' for value in values) + ")"
        case {"type": "array", "items": items}:
            return f"{_baml_type(items)}[]"
        case {"type": "object", "additionalProperties": values}:
            return f"map<string, {_baml_type(values)}>"
        case {"type": atom}:
            return _ATOMS[atom]
    raise ValueError(f"no type of BAML for {schema}")


def _reason_of_error(exc: Exception) -> str:
    """Return BAML's reason for an error without its internals: the innermost reasons, if it gives any."""
    text = " ".join(str(exc).partition("Stack backtrace")[0].split())
    reasons = [found for found in _REASON.findall(text) if not found.startswith("Failed while parsing")]
    return one_line("; ".join(dict.fromkeys(reasons)) or text, 600)
