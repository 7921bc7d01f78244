"""Parses one fixture strictly: an unknown field is refused."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.conformance.match import Assertion, parse_assertions

EVENTS = ("agent_spawn", "agent_complete", "agent_resume")
STATE_ROOT = ".nexus/state"
_TEST_ID = re.compile(r"[a-z][a-z0-9_-]*")
_HARNESS_ID = re.compile(r"[a-z][a-z0-9-]*")
_TOKENS = ("{STATE_ROOT}", "{HARNESS_ID}")


@dataclass(frozen=True, slots=True)
class FixtureCall:
    """A tool or a lifecycle event, which is called as a tool of the same name."""

    tool: str
    params: dict[str, Any]
    event: bool = False


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """What a file should be: absent, there, or JSON that holds the assertions."""

    path: str
    absent: bool
    content: tuple[Assertion, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """What should be true after a call. `fails` is None if the fixture does not mention errors."""

    answer: tuple[Assertion, ...] = ()
    files: tuple[ExpectedFile, ...] = ()
    fails: bool | None = None
    error_contains: str | None = None

    @property
    def error(self) -> bool:
        """True if the call must fail; an assertion on `$.error` says so too."""
        return bool(self.fails) or any(one.path.text == "$.error" and one.expected is not None for one in self.answer)

    @property
    def says_something(self) -> bool:
        """Return True if there is any statement that could be false."""
        return bool(self.answer or self.files) or self.fails is not None


@dataclass(frozen=True, slots=True)
class FixtureStep:
    """One call and what should be true after it."""

    call: FixtureCall
    expected: ExpectedResult


@dataclass(frozen=True, slots=True)
class Fixture:
    """One test. A single action or event is a fixture of one step; `last` holds after all steps."""

    test_id: str
    seeds: dict[str, Any]
    steps: tuple[FixtureStep, ...]
    last: ExpectedResult
    harness: str | None
    covers: dict[str, Any]


def parse_fixture(value: Any) -> Fixture:
    """Return the fixture in a JSON value. Raises: Invalid, saying what cannot be used."""
    known = {"test_id", "description", "covers", "uncovered_params", "precondition", "postcondition"}
    given = _require_object(
        value, "the fixture", known | {"action", "event", "steps"}, {"test_id", "description", "covers"}
    )
    test_id = given["test_id"]
    if not isinstance(test_id, str) or not _TEST_ID.fullmatch(test_id):
        raise Invalid("test_id should be lower-case letters, digits, _ and -")
    if not isinstance(given["description"], str) or len(given["description"]) < 10:
        raise Invalid("description should be a text of at least 10 characters")
    _require_names(given.get("uncovered_params", []), "uncovered_params")
    steps = _parse_steps(given)
    fixture = Fixture(
        test_id=test_id,
        seeds=_parse_seeds(given.get("precondition", {})),
        steps=steps,
        last=_parse_expected(given.get("postcondition", {})),
        harness=_harness_of_events(steps),
        covers=_parse_covers(given["covers"]),
    )
    if not any(expected.says_something for expected in (fixture.last, *(step.expected for step in steps))):
        raise Invalid("it asserts nothing")
    return fixture


def resolve_state_path(path: str, harness: str) -> str:
    """Return the path of a state file with its tokens replaced. Raises: Invalid for other tokens and for ways out."""
    bare = path.replace(_TOKENS[0], STATE_ROOT).replace(_TOKENS[1], harness)
    if "{" in bare or "}" in bare:
        raise Invalid(f"the path {path!r} has a token that is not known; there are {' and '.join(_TOKENS)}")
    if not bare or PurePosixPath(bare).is_absolute() or {"..", "."} & set(bare.split("/")) or "\0" in bare:
        raise Invalid(f"the path {path!r} leads out of the fixture's repository")
    return bare


def _parse_steps(given: dict[str, Any]) -> tuple[FixtureStep, ...]:
    kinds = [name for name in ("action", "event", "steps") if name in given]
    if len(kinds) != 1:
        raise Invalid("exactly one of action, event and steps should be there")
    if kinds != ["steps"]:
        return (FixtureStep(_parse_call(given), ExpectedResult()),)
    rows = given["steps"]
    if not isinstance(rows, list) or not rows:
        raise Invalid("steps should be a list that is not empty")
    return tuple(_parse_step(row, f"step {at}") for at, row in enumerate(rows, 1))


def _parse_step(row: Any, where: str) -> FixtureStep:
    given = _require_object(row, where, {"description", "action", "event", "assert_return", "assert_state"})
    if ("action" in given) == ("event" in given):
        raise Invalid(f"{where}: exactly one of action and event should be there")
    _require_text(given.get("description", ""), f"{where}: description")
    answer = parse_assertions(given.get("assert_return", {}), f"{where}: assert_return")
    return FixtureStep(
        _parse_call(given, f"{where}: "),
        ExpectedResult(answer, _parse_state_files(given.get("assert_state", {}), where)),
    )


def _parse_call(given: dict[str, Any], where: str = "") -> FixtureCall:
    if "action" in given:
        action = _require_object(given["action"], f"{where}action", {"tool", "params"}, {"tool", "params"})
        tool = _require_text(action["tool"], f"{where}tool")
        if tool.startswith("nx_") or not tool:
            raise Invalid(f"{where}the tool {tool!r} should be the contract's name, without a prefix")
        return FixtureCall(tool, _require_object(action["params"], f"{where}params"))
    event = _require_object(given["event"], f"{where}event", {"type", "params", "description"}, {"type"})
    _require_text(event.get("description", ""), f"{where}event description")
    if event["type"] not in EVENTS:
        raise Invalid(f"{where}the event type should be one of {', '.join(EVENTS)}")
    return FixtureCall(event["type"], _require_object(event.get("params", {}), f"{where}event params"), event=True)


def _parse_expected(value: Any) -> ExpectedResult:
    given = _require_object(value, "postcondition", {"return_value", "state_files", "error", "error_contains"})
    fails = given.get("error")
    if fails is not None and not isinstance(fails, bool):
        raise Invalid("error should be true or false")
    contains = given.get("error_contains")
    if contains is not None:
        if not _require_text(contains, "error_contains"):
            raise Invalid("error_contains is empty and would fit every error")
        fails = True if fails is None else fails
    found = ExpectedResult(
        answer=parse_assertions(given.get("return_value", {}), "return_value"),
        files=_parse_state_files(given.get("state_files", {}), "postcondition"),
        fails=fails,
        error_contains=contains,
    )
    if fails is False and (contains is not None or found.error):
        raise Invalid("error is false, yet an error is described")
    return found


def _parse_state_files(value: Any, where: str) -> tuple[ExpectedFile, ...]:
    rows = []
    for path, content in _require_object(value, f"{where}: state files").items():
        resolve_state_path(path, "any")
        if content is None:
            rows.append(ExpectedFile(path, absent=True))
        else:
            rows.append(ExpectedFile(path, absent=False, content=parse_assertions(content, f"{where}: {path}")))
    return tuple(rows)


def _parse_seeds(value: Any) -> dict[str, Any]:
    given = _require_object(value, "precondition", {"state_files"})
    seeds = _require_object(given.get("state_files", {}), "precondition: state_files")
    for path, content in seeds.items():
        resolve_state_path(path, "any")
        # Upstream's schema says object, its own lifecycle fixtures seed lists: the contract settles it for both.
        if content is not None and not isinstance(content, (dict, list)):
            raise Invalid(f"precondition: {path} should be an object, a list or null")
    return seeds


def _parse_covers(value: Any) -> dict[str, Any]:
    given = _require_object(value, "covers", {"state_schemas", "return_value", "description"})
    _require_text(given.get("description", ""), "covers: description")
    for name in ("state_schemas", "return_value"):
        for key, fields in _require_object(given.get(name, {}), f"covers: {name}").items():
            _require_names(fields, f"covers: {name}: {key}")
    if not given.get("state_schemas") and not given.get("return_value"):
        raise Invalid("covers names neither state_schemas nor return_value")
    return given


def _harness_of_events(steps: tuple[FixtureStep, ...]) -> str | None:
    events = [step.call.params for step in steps if step.call.event]
    named = [params["harness_id"] for params in events if "harness_id" in params]
    if not named:
        return None
    if any(name != named[0] for name in named):
        raise Invalid("the events name more than one harness_id")
    if not isinstance(named[0], str) or not _HARNESS_ID.fullmatch(named[0]):
        raise Invalid("harness_id should be lower-case letters, digits and -")
    return named[0]


def _require_object(
    value: Any, where: str, known: set[str] | None = None, required: set[str] | frozenset[str] = frozenset()
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{where} should be an object")
    unknown = sorted(set(value) - known) if known is not None else []
    if unknown:
        raise Invalid(f"{where} has a key that is not known: {', '.join(unknown)}")
    missing = sorted(required - set(value))
    if missing:
        raise Invalid(f"{where} lacks {', '.join(missing)}")
    return value


def _require_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{where} should be text")
    return value


def _require_names(value: Any, where: str) -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) and item and " " not in item for item in value):
        raise Invalid(f"{where} should be a list of names")
