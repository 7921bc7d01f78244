"""Parses a policy file strictly: rules in the front matter of `policy.md`, free text below."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, get_args

from gitnexus.base.errors import Invalid
from gitnexus.base.frontmatter import UnclosedFrontMatter, locate_front_matter
from gitnexus.base.record import Record
from gitnexus.base.spelling import suggest_word
from gitnexus.base.text import one_line
from gitnexus.policy.model import Approval, Kind, Level, Mode, Network, Verdict, Way
from gitnexus.policy.patterns import ArgvPattern, is_everything, require_path_pattern

FILE = "policy.md"
VERSION = 1
VERDICTS: tuple[Verdict, ...] = ("deny", "ask", "allow")
SUBJECTS = ("read", "write", "run", "hosts", "handoff")
# Whole kinds that a rule may allow: they have no paths or words to match.
WHOLE_KINDS: tuple[Kind, ...] = ("handoff", "plan_patch", "agenda_patch")
Layer = Literal["user", "project"]
SandboxLevel = Literal["auto", "strict", "L0", "L1", "L2", "L3"]
# Whether an agent may edit files while no task of the cycle is open.
Unplanned = Literal["free", "require-task"]
MOST_RULES = 2000
# The template that an editor shows for a new policy.
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
_LOST = re.compile(
    rb"^(?:\xef\xbb\xbf)?(?:version|mode|way|allow|ask|deny|sandbox|approval|signin|autopilot)[ \t]*:", re.MULTILINE
)
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_HOST = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::[0-9]{1,5})?")


class PolicyRule(Record):
    """One rule: a verdict on paths, a command line, hosts, a handoff or a whole kind. `id` is its name for people."""

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
        """The rule and its reason in one line, safe to display."""
        said = one_line(self.shown, 160)
        return f"{said} ({one_line(self.why, 160)})" if self.why else said

    @cached_property
    def shown(self) -> str:
        """The rule in one line."""
        what = f"{self.subject} {' '.join(self.patterns)}" if self.subject else "all"
        limits = [f"kind {self.kind}" if self.kind else "", f"role {self.role}" if self.role else ""]
        limits.append(f"network {self.network}" if self.network != "none" else "")
        limits.append("unconfined" if self.unconfined else "")
        return ", ".join([f"{self.verdict} {what}", *filter(None, limits)])


class BatchBudget(Record):
    """What one batch may do without asking a person."""

    files: int = 20
    directories: int = 5
    commands: int = 20
    risk: int = 30


class Policy(Record):
    """The parsed content of one policy file."""

    rules: tuple[PolicyRule, ...] = ()
    mode: Mode | None = None
    way: Way | None = None
    level: SandboxLevel | None = None
    minimum: Level = "L0"
    edits: tuple[str, ...] = ()
    unplanned: Unplanned | None = None
    autopilot: tuple[PolicyRule, ...] = ()
    budget: BatchBudget | None = None
    approval: Approval | None = None
    signin: Verdict | None = None


def find_front_matter(raw: bytes, where: str) -> tuple[int, int]:
    """Return start and end of the YAML in a policy file, (0, 0) if there is none. Raises: Invalid."""
    try:
        place = locate_front_matter(raw)
    except UnclosedFrontMatter as exc:
        raise Invalid(f"{where}: the front matter does not end", hint="close it with a line ---") from exc
    if place is None:
        # Rules that are not parsed would silently not apply.
        if _LOST.search(raw):
            raise Invalid(
                f"{where}: there are rules, but not at the top between two lines of ---",
                hint="let the file begin with a line ---, the rules, and a line --- again; prose comes after",
            )
        return 0, 0
    return place.start, place.end


def parse_policy(raw: bytes, layer: Layer, where: str = FILE) -> Policy:
    """Parse a policy file. Raises: Invalid, with the position."""
    from gitnexus.catalog.yamltext import parse_yaml  # PyYAML: only imported to judge

    start, end = find_front_matter(raw, where)
    if not raw[start:end].strip():
        return Policy()
    try:
        value = parse_yaml(raw[start:end])
    except Invalid as exc:
        raise Invalid(
            f"{where}: {exc.message}", hint="correct the front matter; nothing is allowed until then"
        ) from exc
    return Policy() if value is None else _parse_front_matter(_require_mapping(value, where), layer, where)


def _parse_front_matter(value: Mapping[str, Any], layer: Layer, where: str) -> Policy:
    _check_known_keys(value, _KNOWN_KEYS, where)
    if value.get("version") != VERSION or type(value["version"]) is not int:
        raise Invalid(f"{where}: version should be {VERSION}", hint=f"write version: {VERSION}")
    sandbox = _require_mapping(value.get("sandbox") or {}, f"{where}: sandbox")
    _check_known_keys(sandbox, ("level", "minimum"), f"{where}: sandbox")
    autopilot = _require_mapping(value.get("autopilot") or {}, f"{where}: autopilot")
    _check_known_keys(autopilot, ("allow", "budget"), f"{where}: autopilot")
    edits = _parse_edits(value.get("edits"), f"{where}: edits")
    rules = [
        rule
        for verdict in VERDICTS
        for rule in _parse_rules(value.get(verdict), verdict, f"{layer}.{verdict}", layer, where)
    ]
    _check_unique_names(rules, where)
    budget = autopilot.get("budget")
    return Policy(
        rules=tuple(rules),
        mode=_require_choice(value.get("mode"), get_args(Mode), f"{where}: mode"),
        way=_require_choice(value.get("way"), get_args(Way), f"{where}: way"),
        level=_require_choice(sandbox.get("level"), get_args(SandboxLevel), f"{where}: sandbox.level"),
        minimum=_require_choice(sandbox.get("minimum"), get_args(Level), f"{where}: sandbox.minimum") or "L0",
        edits=_parse_path_patterns(edits.get("paths") or [], "allow", f"{where}: edits"),
        unplanned=_require_choice(edits.get("unplanned"), get_args(Unplanned), f"{where}: edits"),
        autopilot=tuple(
            _parse_rules(autopilot.get("allow"), "allow", f"{layer}.autopilot", layer, f"{where}: autopilot")
        ),
        budget=_parse_budget(budget, f"{where}: autopilot.budget") if budget is not None else None,
        approval=_require_choice(value.get("approval"), get_args(Approval), f"{where}: approval"),
        signin=_require_choice(value.get("signin"), VERDICTS, f"{where}: signin"),
    )


def _parse_edits(value: Any, where: str) -> Mapping[str, Any]:
    """Return the two possible meanings of `edits`: a list of paths, or a word about edits without a task."""
    if not isinstance(value, Mapping):
        return {"unplanned": value} if isinstance(value, str) else {"paths": value}
    _check_known_keys(value, ("paths", "unplanned"), where)
    return value


def _parse_rules(value: Any, verdict: Verdict, prefix: str, layer: str, where: str) -> list[PolicyRule]:
    rows = _require_list(value if value is not None else [], f"{where}: {verdict}")
    if len(rows) > MOST_RULES:
        raise Invalid(f"{where}: {verdict} has more than {MOST_RULES} rules")
    return [
        parse_rule(row, verdict, f"{prefix}.{at}", layer, f"{where}: {verdict}, number {at}")
        for at, row in enumerate(rows, 1)
    ]


def parse_rule(row: Any, verdict: Verdict, number: str, layer: str, where: str) -> PolicyRule:
    """Return the rule for a value of the front matter. Raises: Invalid."""
    given = _require_mapping(row, where)
    _check_known_keys(given, (*SUBJECTS, "name", "why", "role", "kind", "network", "unconfined"), where)
    subjects = [key for key in SUBJECTS if key in given]
    if len(subjects) > 1:
        raise Invalid(f"{where}: {' and '.join(subjects)} cannot be in one rule", hint="write two rules")
    kind = _require_choice(given.get("kind"), get_args(Kind), f"{where}: kind") or ""
    subject = subjects[0] if subjects else ""
    if subject == "read" and verdict != "deny":
        raise Invalid(f"{where}: reading can only be denied", hint="what no rule denies can be read")
    if not subject and (not kind or (verdict == "allow" and kind not in WHOLE_KINDS)):
        words = f"one of {', '.join(SUBJECTS)}" + ("" if verdict == "allow" else ", or a kind")
        raise Invalid(f"{where}: the rule does not say what it applies to", hint=f"it needs {words}")
    name = _require_text(given.get("name", ""), f"{where}: name")
    if name and not _NAME.fullmatch(name):
        raise Invalid(f"{where}: the name {name!r} should be lower-case letters, digits, - and _")
    if "network" in given and subject != "run":
        raise Invalid(f"{where}: network belongs to a rule with run")
    unconfined = given.get("unconfined", False)
    if not isinstance(unconfined, bool):
        raise Invalid(f"{where}: unconfined should be true or false")
    if unconfined and (subject != "run" or verdict != "allow"):
        raise Invalid(f"{where}: unconfined belongs to a rule that allows a command")
    return PolicyRule(
        id=f"{layer}.{name}" if name else number,
        layer=layer,
        verdict=verdict,
        subject=subject,
        patterns=_parse_patterns(subject, given.get(subject), verdict, f"{where}: {subject}"),
        name=name,
        why=_require_text(given.get("why", ""), f"{where}: why"),
        role=_require_text(given.get("role", ""), f"{where}: role"),
        kind=kind,
        network=_require_choice(given.get("network"), get_args(Network), f"{where}: network") or "none",
        unconfined=unconfined,
    )


def _parse_patterns(subject: str, value: Any, verdict: Verdict, where: str) -> tuple[str, ...]:
    if not subject:
        return ()
    if subject in ("read", "write"):
        found = _parse_path_patterns(value, verdict, where)
        if not found:
            raise Invalid(f"{where} is empty")
        return found
    words = tuple(_require_text(word, f"{where}[{at}]") for at, word in enumerate(_require_list(value, where)))
    if not words or (subject != "run" and not all(words)):
        raise Invalid(f"{where} is empty")
    {"run": _check_run, "handoff": _check_handoff, "hosts": _check_hosts}[subject](words, verdict, where)
    return words


def _check_run(words: tuple[str, ...], verdict: Verdict, where: str) -> None:
    if ArgvPattern(words, where).program is None and verdict == "allow":
        raise Invalid(f"{where}: a rule that allows should name the program", hint="* may follow it")


def _check_handoff(words: tuple[str, ...], verdict: Verdict, where: str) -> None:
    if len(words) != 2 or (verdict == "allow" and words == ("*", "*")):
        raise Invalid(f"{where} should be two roles, from and to; only what denies or asks may say * twice")


def _check_hosts(words: tuple[str, ...], verdict: Verdict, where: str) -> None:
    for word in words:
        if not _HOST.fullmatch(word) and not (word == "*" and verdict != "allow"):
            raise Invalid(f"{where}: {word!r} is not a host, such as pypi.org:443 or *.example.org")


def _parse_path_patterns(value: Any, verdict: Verdict, where: str) -> tuple[str, ...]:
    found = tuple(
        require_path_pattern(_require_text(text, f"{where}[{at}]"), f"{where}[{at}]")
        for at, text in enumerate(_require_list(value, where))
    )
    for text in found:
        if verdict == "allow" and is_everything(text):
            raise Invalid(f"{where}: {text} matches everything, which only deny and ask rules may do")
    return found


def _parse_budget(value: Any, where: str) -> BatchBudget:
    found = BatchBudget.from_value(value, where)
    if min(found.files, found.directories, found.commands, found.risk) < 0:
        raise Invalid(f"{where}: a budget cannot be below 0")
    return found


def _check_unique_names(rules: list[PolicyRule], where: str) -> None:
    names: set[str] = set()
    for rule in rules:
        if rule.id in names:
            raise Invalid(f"{where}: two rules are called {rule.name}")
        names.add(rule.id)


def _check_known_keys(value: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in value:
        if key not in keys:
            otherwise = f"known keys: {', '.join(keys)}"
            raise Invalid(f"{where}: {key!r} is not known", hint=suggest_word(str(key), keys, otherwise))


def _require_mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{where} should be an object")
    return value


def _require_list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Invalid(f"{where} should be a list")
    return value


def _require_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{where} should be text", hint="YAML reads words such as yes and 5 as other types: quote them")
    return value


def _require_choice(value: Any, allowed: tuple[Any, ...], where: str) -> Any:
    if value is not None and value not in allowed:
        raise Invalid(f"{where} should be one of {', '.join(allowed)}")
    return value
