"""Reads the user's policy file and the project's, compiles the policy in force, and edits either file."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from gitnexus.base import files
from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid, NotFound
from gitnexus.base.spelling import suggest_word
from gitnexus.policy import edit
from gitnexus.policy.compiled_rules import CompiledPolicy, compile_policy
from gitnexus.policy.model import Mode, Verdict
from gitnexus.policy.rules import FILE, Layer, Policy, PolicyRule, parse_policy
from gitnexus.policy.signed import SignedFiles
from gitnexus.state.home import home_folder
from gitnexus.state.settings import user_settings_section
from gitnexus.state.snapshot import Snapshot
from gitnexus.state.store import Change, State

T = TypeVar("T")


@dataclass(frozen=True)
class PolicyInForce:
    """The contents of both files, and the policy compiled from them."""

    compiled: CompiledPolicy
    user: Policy
    project: Policy
    trusted: bool
    has_project: bool
    # The blob id of the project's file, "" without one: tells whose edit changed the policy.
    project_oid: str = ""

    @property
    def ignored(self) -> tuple[PolicyRule, ...]:
        """The project rules that do not apply, because nobody trusted the project's file."""
        return tuple(rule for rule in self.project.rules if rule not in self.compiled.rules)


def user_policy_file() -> Path:
    """Return the path of the user's policy file, existing or not."""
    return home_folder() / FILE


def read_policy_in_force(state: State) -> PolicyInForce:
    """Return the policy in force. Raises: Invalid for a malformed file; then nothing is allowed."""
    snapshot = state.latest()
    mine, theirs = _read_user_policy(), snapshot.read(FILE)
    signed = theirs is not None and SignedFiles(snapshot, state.repo.common_dir).trust_of(FILE, theirs).trusted
    found = _compile_texts(mine, str(user_policy_file()), theirs, signed, is_bypass_enabled())
    return replace(found, project_oid=snapshot.oid(FILE) or "")


@lru_cache(maxsize=4)
def _compile_texts(mine: bytes, where: str, theirs: bytes | None, signed: bool, bypass: bool) -> PolicyInForce:
    """Return the policy of two files; depends on nothing else, so a process parses the same texts once."""
    user = parse_policy(mine, "user", where)
    project = parse_policy(theirs or b"", "project", f".nexus/{FILE}")
    policy = compile_policy(user, project, trusted=signed, bypass=bypass)
    return PolicyInForce(policy, user, project, signed, theirs is not None)


def is_bypass_enabled() -> bool:
    """True if the user's own settings enable the mode bypass. Raises: Invalid."""
    given = user_settings_section("policy")
    for key in given:
        if key != "bypass":
            otherwise = "there is policy.bypass, true or false"
            raise Invalid(f"settings: policy.{key} is not known", hint=suggest_word(key, ["bypass"], otherwise))
    if not isinstance(given.get("bypass", False), bool):
        raise Invalid("settings: policy.bypass should be true or false")
    return given.get("bypass") is True


def add_rule(state: State, layer: Layer, verdict: Verdict, row: dict[str, Any]) -> PolicyRule:
    """Add a rule to one of the two files. Raises: Invalid, Failed."""
    return _change_policy_file(
        state, layer, lambda raw, where: edit.with_added_rule(raw, verdict, row, layer, where), f"add to {verdict}"
    )


def remove_rule(state: State, rule_id: str) -> PolicyRule:
    """Remove a rule by its id, or by the name that it was given if only one layer has it. Raises: NotFound, Failed."""
    named = [f"{layer}.{rule_id}" for layer in get_args(Layer) if _has_rule(state, layer, f"{layer}.{rule_id}")]
    rule_id = named[0] if len(named) == 1 else rule_id
    layer = next((one for one in get_args(Layer) if one == rule_id.partition(".")[0]), None)
    if layer is None:
        raise NotFound(f"there is no rule {rule_id}", hint="git nexus policy show lists them; what is built in stays")
    return _change_policy_file(
        state, layer, lambda raw, where: edit.with_removed_rule(raw, rule_id, layer, where), f"remove {rule_id}"
    )


def _has_rule(state: State, layer: Layer, rule_id: str) -> bool:
    rules = parse_policy(read_policy_text(state, layer), layer, "").rules
    return any(rule.id == rule_id for rule in rules)


def set_mode(state: State, layer: Layer, mode: Mode) -> None:
    """Set the mode in one of the two files. Raises: DeniedByPolicy, Invalid, Failed."""
    if mode == "bypass" and (layer == "project" or not is_bypass_enabled()):
        raise DeniedByPolicy(
            "the mode bypass never asks, so a command cannot enable it",
            hint=f'set {{"policy": {{"bypass": true}}}} in {home_folder() / "settings.json"}, then use --user',
        )
    _change_policy_file(
        state, layer, lambda raw, where: (edit.with_mode(raw, mode, layer, where), None), f"mode {mode}"
    )


def replace_text(state: State, layer: Layer, before: bytes, after: bytes) -> None:
    """Replace a policy file by its edited text. Raises: Invalid, Conflict if the file is no longer `before`."""

    def replaced(raw: bytes, where: str) -> tuple[bytes, None]:
        if raw != before:
            raise Conflict(f"{where} changed while it was edited", hint="edit it again")
        parse_policy(after, layer, where)
        return after, None

    _change_policy_file(state, layer, replaced, "edit")


def read_policy_text(state: State, layer: Layer) -> bytes:
    """Return the content of one of the two files, empty if it does not exist."""
    return _read_user_policy() if layer == "user" else state.latest().read(FILE) or b""


def _change_policy_file(state: State, layer: Layer, change: Callable[[bytes, str], tuple[bytes, T]], why: str) -> T:
    if layer == "user":
        after, value = change(_read_user_policy(), str(user_policy_file()))
        files.replace_file(user_policy_file(), after, 0o600)
        return value

    def decided(snapshot: Snapshot) -> Change[T]:
        written, found = change(snapshot.read(FILE) or b"", f".nexus/{FILE}")
        return Change({FILE: written}, f"policy: {why}", found)

    return state.transact(decided)


def _read_user_policy() -> bytes:
    try:
        return user_policy_file().read_bytes()
    except FileNotFoundError:
        return b""
