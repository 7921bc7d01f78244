"""Asking through BAML: it writes the messages and reads the answer, leniently. The request itself is ours."""

import re
import types
from functools import cache
from typing import TYPE_CHECKING, Any

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.prompts.functions import FUNCTIONS
from gitnexus.prompts.protocol import Question, missing
from gitnexus.prompts.schema import baml_of
from gitnexus.prompts.wire import Unfit, Wire

if TYPE_CHECKING:
    from baml_py import BamlRuntime

_ROOT = "baml"
_REASON = re.compile(r'reason: "((?:[^"\\]|\\.)*)"')


class ViaBaml:
    """baml-py, without generated code: files become a runtime, and plain values come out."""

    name = "baml"

    def ask(self, question: Question, wire: Wire) -> Any:
        try:
            from baml_py import BamlRuntime, ClientRegistry  # 60 to 130 ms, and an extra: only who asks pays
            from baml_py.baml_py import BamlError
        except ImportError as exc:
            raise missing("baml", "baml-py") from exc
        _quiet()
        runtime = _runtime(tuple(sorted(question.files.items())))
        assert isinstance(runtime, BamlRuntime)  # noqa: S101
        registry = ClientRegistry()
        # The name stands in its own reports alone: where the request goes, the wire decides.
        registry.add_llm_client(
            "Settings", "openai-generic", {"model": wire.endpoint.model, "base_url": "http://unused"}
        )
        registry.set_primary("Settings")
        context = runtime.create_context_manager()
        name = question.function.name
        try:
            # No variable of the environment is given: a template that asks for one gets none.
            request = runtime.build_request_sync(name, dict(question.args), context, None, registry, {}, False)
            sent = request.body.json()["messages"]
        except BamlError as exc:
            raise Invalid(f"{question.function.file}: {name}: {_reason(exc)}") from exc
        wire.ask(sent)
        plain = types.ModuleType("plain")  # classes that it does not find there stay plain values
        try:
            return runtime.parse_llm_response(name, wire.said, plain, plain, plain, False, context, None, registry, {})
        except BamlError as exc:
            raise Unfit(f"it does not have the form: {_reason(exc)}", wire.said) from exc


@cache
def _quiet() -> None:
    from baml_py.baml_py import set_log_level

    set_log_level("OFF")  # it would print whole prompts


@cache
def _runtime(files: tuple[tuple[str, str], ...]) -> "BamlRuntime":
    """Return the runtime of some files, with the classes of all answers. Raises: Invalid."""
    from baml_py import BamlRuntime
    from baml_py.baml_py import BamlError

    texts = {f"{_ROOT}/{name}": text for name, text in files}
    texts[f"{_ROOT}/types.baml"] = types_text()
    try:
        return BamlRuntime.from_files(_ROOT, texts, {})
    except BamlError as exc:
        raise Invalid(f"the prompts are no BAML: {_reason(exc)}") from exc


def types_text() -> str:
    """Return the classes that all answers are made of, as BAML."""
    return baml_of(one.output for one in FUNCTIONS.values())


def _reason(exc: Exception) -> str:
    """Return what BAML says, without its own insides: the innermost reasons where it tells any."""
    text = " ".join(str(exc).partition("Stack backtrace")[0].split())
    reasons = [found for found in _REASON.findall(text) if not found.startswith("Failed while parsing")]
    return one_line("; ".join(dict.fromkeys(reasons)) or text, 600)
