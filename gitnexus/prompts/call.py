"""Calls a prompt function: quotes and redacts the inputs, asks the model, checks the answer, and retries on errors."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import cut_middle, make_visible, one_line
from gitnexus.base.unique_fence import fence_mark_for
from gitnexus.prompts.chat import PromptSession, UnusableReply
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.exchange import exchange_as_json
from gitnexus.prompts.functions import PromptFunction, function_named
from gitnexus.prompts.http import RetryLater
from gitnexus.prompts.model import Form
from gitnexus.prompts.protocol import PromptQuestion
from gitnexus.prompts.settings import PromptSettings
from gitnexus.prompts.table import WAYS
from gitnexus.prompts.words import FEEDBACK, builtin_prompt_files
from gitnexus.redaction.hide import mask
from gitnexus.redaction.values import Values

LARGEST_INPUT = 2 * 2**20
_LONGEST_SAID = 4000
Out = TypeVar("Out", bound=Form)


@dataclass(frozen=True, slots=True)
class Reply(Generic[Out]):
    """A checked answer with its cost. Tokens are None if the server does not report them, the cost without a price."""

    output: Out
    via: str
    model: str
    attempts: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    # What was wrong with each answer before the last one, for the log.
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prompter:
    """Asks models according to the settings. `values` are known secrets of this machine; they are never sent."""

    settings: PromptSettings
    files: Mapping[str, str] = field(default_factory=builtin_prompt_files)
    values: Values | None = None
    sleep: Callable[[float], None] = time.sleep

    def call(
        self,
        name: str,
        given: Mapping[str, Any] | Form,
        form: type[Out],
        *,
        feedback: str = "",
        session: PromptSession | None = None,
    ) -> Reply[Out]:
        """Return the answer of a model as a `form`, the output document of the function.

        `feedback` says what a caller, who checks more than the form, found wrong with an earlier answer. `session` has
        the tools that the model may call before it answers, and who hears and keeps what is said.

        An unusable answer is sent back to the model with the reason, and a busy server is asked again, each `retries`
        times at most. Raises: Invalid, NotFound, Failed.
        """
        function = function_named(name)
        if function.output is not form:
            raise Invalid(f"{name} answers with {function.output.__name__}, not with {form.__name__}")
        args = self._framed_inputs(function, given)
        args[FEEDBACK] = self._render_feedback(UnusableReply(feedback)) if feedback else ""
        session = session or PromptSession()
        connection = ModelConnection(self.settings.endpoint_of(name), session, self.settings.tools)
        try:
            return self._ask_until_usable(function, form, args, connection)
        finally:
            if connection.history:
                session.record(exchange_as_json(connection, name))

    def _ask_until_usable(
        self, function: PromptFunction, form: type[Out], args: dict[str, str], connection: ModelConnection
    ) -> Reply[Out]:
        way, name = WAYS[self.settings.via], function.name
        wrong: list[str] = []
        failures, looks = 0, 0
        while failures <= self.settings.retries:
            try:
                value = way.ask(PromptQuestion(function, self.files, args), connection)
                output = _parse_answer(function, value, connection.said)
            except UnusableReply as exc:
                wrong.append(exc.message)
                args[FEEDBACK] = self._render_feedback(exc)
                failures += 1
            except RetryLater as exc:
                wrong.append(exc.message)
                # A model that looked around since the last failure goes on where it was.
                failures, looks = 1 + (failures if connection.looks == looks else 0), connection.looks
                if failures <= self.settings.retries:
                    self.sleep(exc.after or 2.0 ** (failures - 1))
            except Failed as exc:
                exc.context.update(_usage_context(connection, len(wrong) + 1))
                raise
            else:
                assert isinstance(output, form)  # noqa: S101
                cost = self._cost_in_usd(connection)
                return Reply(
                    output,
                    way.name,
                    connection.endpoint.model,
                    len(wrong) + 1,
                    connection.tokens_in,
                    connection.tokens_out,
                    cost,
                    tuple(wrong),
                )
        tries = "1 try" if len(wrong) == 1 else f"{len(wrong)} tries"
        raise Failed(
            f"{name} got no answer that can be used in {tries}: {one_line(wrong[-1], 400)}",
            hint="ask again, choose another model, or work without one: what needs no model continues",
            context={**_usage_context(connection, len(wrong)), "wrong": wrong},
        )

    def _framed_inputs(self, function: PromptFunction, given: Mapping[str, Any] | Form) -> dict[str, str]:
        """Return the inputs as they are sent: without secrets, and framed. Raises: Invalid."""
        plain = function.given(given)
        texts: dict[str, str] = {name: str(value) for name, value in vars(plain).items()}
        if sum(len(text) for text in texts.values()) > LARGEST_INPUT:
            raise Invalid(f"{function.name}: its inputs are larger than {LARGEST_INPUT // 2**20} MiB together")
        return {**{name: frame_input(name, mask(text, self.values)) for name, text in texts.items()}, FEEDBACK: ""}

    def _render_feedback(self, exc: UnusableReply) -> str:
        parts = [describe_unusable(mask(exc.message, self.values))]
        if exc.said:
            parts.append(frame_input("your last answer", mask(exc.said[:_LONGEST_SAID], self.values)))
        return "\n".join([*parts, "Answer again, whole, in the form that is described above."])

    def _cost_in_usd(self, connection: ModelConnection) -> float | None:
        if connection.tokens_in is None:
            return None
        return connection.endpoint.cost(connection.tokens_in, connection.tokens_out or 0)


def describe_unusable(why: str) -> str:
    """Return the words that tell a model why its answer could not be used; what has several lines is framed."""
    if "\n" not in why.strip():
        return f"Your last answer could not be used: {one_line(why, 800)}."
    return f"Your last answer could not be used:\n{frame_input('what was wrong', cut_middle(why, _LONGEST_SAID))}"


def frame_input(name: str, text: str) -> str:
    """Return an input between two delimiter lines that it cannot contain; control characters are spelled out."""
    body = make_visible(text).strip("\n")
    mark = fence_mark_for([body])
    return f"<<< {mark} {name}\n{body or '(nothing)'}\n>>> {mark}"


def _parse_answer(function: PromptFunction, value: Any, said: str) -> Form:
    try:
        return function.answer(value)
    except Invalid as exc:
        raise UnusableReply(exc.message, said) from exc


def _usage_context(connection: ModelConnection, attempts: int) -> dict[str, Any]:
    return {"attempts": attempts, "tokensIn": connection.tokens_in, "tokensOut": connection.tokens_out}
