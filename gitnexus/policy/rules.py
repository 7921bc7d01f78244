"""A policy file: rules in the front matter of `policy.md`, prose below it; read strictly, since a slip is a hole."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, get_args

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.policy.model import Approval, Kind, Level, Mode, Network, Verdict, Way
from gitnexus.policy.patterns import Argv, is_everything, path_pattern

FILE = "policy.md"
VERSION = 1
LAWS: tuple[Verdict, ...] = ("deny", "ask", "allow")
SUBJECTS = ("read", "write", "run", "hosts", "handoff")
# Whole kinds that a rule may allow: what they do is not spelled by paths or words.
WHOLE_KINDS: tuple[Kind, ...] = ("handoff", "plan_patch", "agenda_patch")
Layer = Literal["user", "project"]
SandboxLevel = Literal["auto", "strict", "L0", "L1", "L2", "L3"]
# Whether an agent may edit files while no task of the cycle is open.
Unplanned = Literal["free", "require-task"]
MOST_RULES = 2000
# What an editor shows where there is no policy yet.
STARTER = b"""---
version: 1
allow:
ask:
deny:
---

# Policy

What agents may do here, and why. Rules stand above between the two lines; this is for people.
"""
_KNOWN_KEYS = (
    *("version", "mode", "way", "sandbox", "approval", "signin"),
    *("allow", "ask", "deny", "edits", "autopilot"),
)
_FENCE = re.compile(rb"---[ \t]*\r?\n")
_LOST = re.compile(rb"^(?:version|mode|way|allow|ask|deny|sandbox|approval|signin|autopilot)[ \t]*:", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_HOST = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::[0-9]{1,5})?")


class Rule(Record):
    """One rule: a verdict over paths, a command line, hosts, a handoff or a whole kind. `id` is how people name it."""

    id: str
    layer: str
    verdict: Verdict
    subject: str
    patterns: tuple[str, ...] = ()
    name: str = ""
    why: str = ""
    role: str = ""
    kind: str = ""
    network: Network = "none"
    unconfined: bool = False

    @cached_property
    def line(self) -> str:
        """What the rule says and why, safe to show."""
        said = one_line(self.shown, 160)
        return f"{said} ({one_line(self.why, 160)})" if self.why else said

    @cached_property
    def shown(self) -> str:
        """What the rule says, on one line."""
        what = f"{self.subject} {' '.join(self.patterns)}" if self.subject else "all"
        limits = [f"kind {self.kind}" if self.kind else "", f"role {self.role}" if self.role else ""]
        limits.append(f"network {self.network}" if self.network != "none" else "")
        limits.append("unconfined" if self.unconfined else "")
        return ", ".join([f"{self.verdict} {what}", *filter(None, limits)])


class Budget(Record):
    """What one batch may do in all without a person."""

    files: int = 20
    directories: int = 5
    commands: int = 20
    risk: int = 30


class Policy(Record):
    """What one policy file says."""

    rules: tuple[Rule, ...] = ()
    mode: Mode | None = None
    way: Way | None = None
    level: SandboxLevel | None = None
    minimum: Level = "L0"
    edits: tuple[str, ...] = ()
    unplanned: Unplanned | None = None
    autopilot: tuple[Rule, ...] = ()
    budget: Budget | None = None
    approval: Approval | None = None
    signin: Verdict | None = None


def front_matter(raw: bytes, where: str) -> tuple[int, int]:
    """Return where the YAML of a policy file begins and ends, (0, 0) if there is none. Raises: Invalid."""
    opening = _FENCE.match(raw)
    if opening is None:
        # Rules that are not found would be rules that do not hold, and nobody would know.
        if raw.startswith(b"\xef\xbb\xbf") or _LOST.search(raw):
            raise Invalid(
                f"{where}: there are rules, but not at the top between two lines of ---",
                hint="let the file begin with a line ---, the rules, and a line --- again; prose comes after",
            )
        return 0, 0
    at = opening.end()
    while at < len(raw):
        end = raw.find(b"\n", at) + 1 or len(raw)
        if raw[at:end].rstrip() == b"---":
            return opening.end(), at
        at = end
    raise Invalid(f"{where}: the front matter does not end", hint="close it with a line ---")


def policy_of(raw: bytes, layer: Layer, where: str = FILE) -> Policy:
    """Return what a policy file says. Raises: Invalid, naming the place."""
    from gitnexus.catalog.yamltext import value_of  # PyYAML: only who judges pays

    start, end = front_matter(raw, where)
    if not raw[start:end].strip():
        return Policy()
    try:
        value = value_of(raw[start:end])
    except Invalid as exc:
        raise Invalid(
            f"{where}: {exc.message}", hint="correct the front matter; nothing is allowed until then"
        ) from exc
    return Policy() if value is None else _policy(_mapping(value, where), layer, where)


def _policy(value: Mapping[str, Any], layer: Layer, where: str) -> Policy:
    _known(value, _KNOWN_KEYS, where)
    if value.get("version") != VERSION or isinstance(value.get("version"), bool):
        raise Invalid(f"{where}: version should be {VERSION}", hint=f"write version: {VERSION}")
    sandbox = _mapping(value.get("sandbox") or {}, f"{where}: sandbox")
    _known(sandbox, ("level", "minimum"), f"{where}: sandbox")
    autopilot = _mapping(value.get("autopilot") or {}, f"{where}: autopilot")
    _known(autopilot, ("allow", "budget"), f"{where}: autopilot")
    edits = _edits(value.get("edits"), f"{where}: edits")
    rules = [
        rule for verdict in LAWS for rule in _rules(value.get(verdict), verdict, f"{layer}.{verdict}", layer, where)
    ]
    _unique(rules, where)
    budget = autopilot.get("budget")
    return Policy(
        rules=tuple(rules),
        mode=_choice(value.get("mode"), get_args(Mode), f"{where}: mode"),
        way=_choice(value.get("way"), get_args(Way), f"{where}: way"),
        level=_choice(sandbox.get("level"), get_args(SandboxLevel), f"{where}: sandbox.level"),
        minimum=_choice(sandbox.get("minimum"), get_args(Level), f"{where}: sandbox.minimum") or "L0",
        edits=_paths(edits.get("paths") or [], "allow", f"{where}: edits"),
        unplanned=_choice(edits.get("unplanned"), get_args(Unplanned), f"{where}: edits"),
        autopilot=tuple(_rules(autopilot.get("allow"), "allow", f"{layer}.autopilot", layer, f"{where}: autopilot")),
        budget=_budget(budget, f"{where}: autopilot.budget") if budget is not None else None,
        approval=_choice(value.get("approval"), get_args(Approval), f"{where}: approval"),
        signin=_choice(value.get("signin"), LAWS, f"{where}: signin"),
    )


def _edits(value: Any, where: str) -> Mapping[str, Any]:
    """Return both things that `edits` may say: a list is of paths, a word is about edits without a task."""
    if not isinstance(value, Mapping):
        return {"unplanned": value} if isinstance(value, str) else {"paths": value}
    _known(value, ("paths", "unplanned"), where)
    return value


def _rules(value: Any, verdict: Verdict, prefix: str, layer: str, where: str) -> list[Rule]:
    rows = _list(value if value is not None else [], f"{where}: {verdict}")
    if len(rows) > MOST_RULES:
        raise Invalid(f"{where}: {verdict} has more than {MOST_RULES} rules")
    return [
        rule_of(row, verdict, f"{prefix}.{at}", layer, f"{where}: {verdict}, number {at}")
        for at, row in enumerate(rows, 1)
    ]


def rule_of(row: Any, verdict: Verdict, number: str, layer: str, where: str) -> Rule:
    """Return the rule that a value of the front matter means. Raises: Invalid."""
    given = _mapping(row, where)
    _known(given, (*SUBJECTS, "name", "why", "role", "kind", "network", "unconfined"), where)
    subjects = [key for key in SUBJECTS if key in given]
    if len(subjects) > 1:
        raise Invalid(f"{where}: {' and '.join(subjects)} cannot stand in one rule", hint="write two rules")
    kind = _choice(given.get("kind"), get_args(Kind), f"{where}: kind") or ""
    subject = subjects[0] if subjects else ""
    if subject == "read" and verdict != "deny":
        raise Invalid(f"{where}: reading can only be denied", hint="what no rule denies can be read")
    if not subject and (not kind or (verdict == "allow" and kind not in WHOLE_KINDS)):
        words = f"one of {', '.join(SUBJECTS)}" + ("" if verdict == "allow" else ", or a kind")
        raise Invalid(f"{where}: the rule says nothing about what it is for", hint=f"it needs {words}")
    name = _text(given.get("name", ""), f"{where}: name")
    if name and not _NAME.fullmatch(name):
        raise Invalid(f"{where}: the name {name!r} should be small letters, digits, - and _")
    if "network" in given and subject != "run":
        raise Invalid(f"{where}: network belongs to a rule with run")
    unconfined = given.get("unconfined", False)
    if not isinstance(unconfined, bool):
        raise Invalid(f"{where}: unconfined should be true or false")
    if unconfined and (subject != "run" or verdict != "allow"):
        raise Invalid(f"{where}: unconfined belongs to a rule that allows to run something")
    return Rule(
        id=f"{layer}.{name}" if name else number,
        layer=layer,
        verdict=verdict,
        subject=subject,
        patterns=_patterns(subject, given.get(subject), verdict, f"{where}: {subject}"),
        name=name,
        why=_text(given.get("why", ""), f"{where}: why"),
        role=_text(given.get("role", ""), f"{where}: role"),
        kind=kind,
        network=_choice(given.get("network"), get_args(Network), f"{where}: network") or "none",
        unconfined=unconfined,
    )


def _patterns(subject: str, value: Any, verdict: Verdict, where: str) -> tuple[str, ...]:
    if not subject:
        return ()
    if subject in ("read", "write"):
        found = _paths(value, verdict, where)
        if not found:
            raise Invalid(f"{where} is empty")
        return found
    words = tuple(_text(word, f"{where}[{at}]") for at, word in enumerate(_list(value, where)))
    if not words or (subject != "run" and not all(words)):
        raise Invalid(f"{where} is empty")
    {"run": _check_run, "handoff": _check_handoff, "hosts": _check_hosts}[subject](words, verdict, where)
    return words


def _check_run(words: tuple[str, ...], verdict: Verdict, where: str) -> None:
    if Argv(words, where).program is None and verdict == "allow":
        raise Invalid(f"{where}: a rule that allows should name the program", hint="* may stand after it")


def _check_handoff(words: tuple[str, ...], verdict: Verdict, where: str) -> None:
    if len(words) != 2 or (verdict == "allow" and words == ("*", "*")):
        raise Invalid(f"{where} should be two roles, from and to; only what denies or asks may say * twice")


def _check_hosts(words: tuple[str, ...], verdict: Verdict, where: str) -> None:
    for word in words:
        if not _HOST.fullmatch(word) and not (word == "*" and verdict != "allow"):
            raise Invalid(f"{where}: {word!r} is no host, such as pypi.org:443 or *.example.org")


def _paths(value: Any, verdict: Verdict, where: str) -> tuple[str, ...]:
    found = tuple(
        path_pattern(_text(text, f"{where}[{at}]"), f"{where}[{at}]") for at, text in enumerate(_list(value, where))
    )
    for text in found:
        if verdict == "allow" and is_everything(text):
            raise Invalid(f"{where}: {text} is everything, and only what denies or asks may say that")
    return found


def _budget(value: Any, where: str) -> Budget:
    found = Budget.from_value(value, where)
    if min(found.files, found.directories, found.commands, found.risk) < 0:
        raise Invalid(f"{where}: a budget cannot be below 0")
    return found


def _unique(rules: list[Rule], where: str) -> None:
    names: set[str] = set()
    for rule in rules:
        if rule.id in names:
            raise Invalid(f"{where}: two rules are called {rule.name}")
        names.add(rule.id)


def _known(value: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in value:
        if key not in keys:
            raise Invalid(f"{where}: {key!r} is not known", hint=f"the words are {', '.join(keys)}")


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{where} should be an object")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Invalid(f"{where} should be a list")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise Invalid(
            f"{where} should be text", hint="YAML takes words such as yes and 5 for something else: quote them"
        )
    return value


def _choice(value: Any, allowed: tuple[Any, ...], where: str) -> Any:
    if value is not None and value not in allowed:
        raise Invalid(f"{where} should be one of {', '.join(allowed)}")
    return value
