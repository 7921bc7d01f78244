"""`CompiledPolicy`: the built-in rules, the user's policy and the project's, compiled once for fast matching."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gitnexus.policy.model import (
    Approval,
    CommandRequest,
    DocumentRequest,
    HandoffRequest,
    Level,
    Mode,
    NetworkRequest,
    PatchRequest,
    Request,
    Verdict,
    Way,
)
from gitnexus.policy.paths import enters_git, why_path_odd
from gitnexus.policy.patterns import ArgvPattern, NarrowMatcher, WideMatcher, is_literal
from gitnexus.policy.programs import program_name, unwrap_command
from gitnexus.policy.rules import BatchBudget, Policy, PolicyRule, SandboxLevel, Unplanned

LEVELS: tuple[Level, ...] = ("L0", "L1", "L2", "L3")
NETWORKS = ("none", "loopback", "full")
# From strictest to loosest.
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "autopilot", "bypass")
APPROVALS: tuple[Approval, ...] = ("per-action", "at-end")
VERDICTS: tuple[Verdict, ...] = ("deny", "ask", "allow")


class PathRules:
    """The path rules of one verdict for one role and kind, with all patterns in one expression."""

    def __init__(self, rules: Sequence[PolicyRule]) -> None:
        rows = [(pattern, rule) for rule in rules for pattern in rule.patterns]
        patterns = [pattern for pattern, _ in rows]
        self._rules = [rule for _, rule in rows]
        self._match = (NarrowMatcher if rules[0].verdict == "allow" else WideMatcher)(patterns)
        self.literal = frozenset(filter(is_literal, patterns))
        self.kind = rules[0].kind

    def deciding(self, path: str) -> PolicyRule | None:
        """Return the first rule that matches `path`."""
        at = self._match.first(path)
        return None if at is None else self._rules[at]


class Rules:
    """The rules of one verdict, grouped by subject."""

    def __init__(self, rules: Iterable[PolicyRule], verdict: Verdict) -> None:
        self.verdict = verdict
        rules = list(rules)
        self.is_empty = not rules
        self._paths: list[tuple[str, str, str, PathRules]] = []
        self._runs: dict[str, list[tuple[ArgvPattern, PolicyRule]]] = {}
        self._rest: list[PolicyRule] = []
        self._all = tuple(rules)
        self._subjects = frozenset(rule.subject for rule in rules)
        groups: dict[tuple[str, str, str], list[PolicyRule]] = {}
        for rule in rules:
            if rule.subject in ("read", "write"):
                groups.setdefault((rule.subject, rule.role, rule.kind), []).append(rule)
            elif rule.subject == "run":
                pattern = ArgvPattern(rule.patterns, rule.id)
                self._runs.setdefault(self._program_key(pattern.program), []).append((pattern, rule))
            else:
                self._rest.append(rule)
        self._paths = [(*key, PathRules(found)) for key, found in groups.items()]

    def _program_key(self, program: str | None) -> str:
        """Return the key of a program: allow rules match the exact word, deny rules any path to the program."""
        return "" if program is None else program if self.verdict == "allow" else program_name(program)

    def paths_for(self, request: Request, subjects: Sequence[str]) -> list[PathRules]:
        """Return the path rules that apply to a request."""
        return [
            rules
            for subject, role, kind, rules in self._paths
            if subject in subjects and self._applies_to(role, kind, request)
        ]

    def unreadable(self) -> list[PathRules]:
        """Return the path rules about reading, for all roles."""
        return [rules for subject, _, _, rules in self._paths if subject == "read"]

    @property
    def has_run_rules(self) -> bool:
        """True if any rule is about a command."""
        return bool(self._runs)

    def first_about(self, subject: str, request: Request) -> PolicyRule | None:
        """Return the first rule on a subject that applies to such a request, whatever it matches."""
        if subject not in self._subjects:
            return None
        found = (rule for rule in self._all if rule.subject == subject)
        return next((rule for rule in found if self._applies_to(rule.role, rule.kind, request)), None)

    def rule_about_program(self, request: Request, word: str) -> PolicyRule | None:
        """Return the first command rule that is about the program which a word names."""
        found = (rule for _, rule in self._runs.get(self._program_key(word), ()))
        return next((rule for rule in found if self._applies_to(rule.role, rule.kind, request)), None)

    def runs_for(self, request: CommandRequest, part: tuple[str, ...] = ()) -> Iterator[tuple[ArgvPattern, PolicyRule]]:
        """Yield the command rules that match a request, or a `part` of its shell script."""
        if not self._runs:
            return
        lines = [part or request.argv]
        if self.verdict != "allow":
            lines = unwrap_command(lines[0])
            lines += [(program_name(line[0]), *line[1:]) for line in lines if line[0]]
            lines += [] if part else [(program_name(request.program), *request.argv[1:])]
        for line in lines:
            for pattern, rule in (*self._runs.get(self._program_key(line[0]), ()), *self._runs.get("", ())):
                if self._applies_to(rule.role, rule.kind, request) and self._matches_line(pattern, line):
                    yield pattern, rule

    def _matches_line(self, pattern: ArgvPattern, line: Sequence[str]) -> bool:
        if pattern.matches(line):
            return True
        # `deny: run: [/usr/bin/curl, **]` matches curl by any path.
        program = pattern.program
        return self.verdict != "allow" and program is not None and pattern.matches((program, *line[1:]))

    def others_for(self, request: Request) -> Iterator[PolicyRule]:
        """Yield the matching rules about hosts, handoffs and whole kinds."""
        for rule in self._rest:
            if self._applies_to(rule.role, rule.kind, request) and self._rule_matches(rule, request):
                yield rule

    def _rule_matches(self, rule: PolicyRule, request: Request) -> bool:
        if rule.subject == "handoff":
            sides = (request.sender, request.receiver) if isinstance(request, HandoffRequest) else None
            return sides is not None and all(one in ("*", side) for one, side in zip(rule.patterns, sides, strict=True))
        if rule.subject == "hosts":
            return isinstance(request, NetworkRequest) and self._hosts_match(rule, request.hosts)
        return rule.kind == request.kind

    def _hosts_match(self, rule: PolicyRule, hosts: Sequence[str]) -> bool:
        hits = [any(host_matches(pattern, host) for pattern in rule.patterns) for host in hosts]
        return bool(hits) and all(hits) if self.verdict == "allow" else any(hits)

    def _applies_to(self, role: str, kind: str, request: Request) -> bool:
        # A request without a role is subject to the rules of all roles.
        said = role in ("", request.role) or (self.verdict != "allow" and request.role == "")
        return said and (kind in ("", request.kind))


def host_matches(pattern: str, host: str) -> bool:
    """True if a pattern matches a host of a request; a pattern without a port matches any port."""
    if pattern == "*":
        return True
    name, _, port = pattern.partition(":")
    host_name, _, host_port = host.lower().partition(":")
    if port and port != host_port:
        return False
    return host_name.endswith(name[1:]) if name.startswith("*.") else host_name == name


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """The policy as the gate uses it. `mode` is from the files; `bypass` tells whether the user enabled that mode.

    `approval` says when the actions of an editing agent are asked about, `signin` whether the agent may use the user's
    sign-in. `unplanned` is about edits without an open task, None if no file says anything.
    """

    deny: Rules
    ask: Rules
    allow: Rules
    autopilot: Rules
    edits: NarrowMatcher
    rules: tuple[PolicyRule, ...]
    mode: Mode = "default"
    way: Way = "contained"
    level: SandboxLevel = "auto"
    minimum: Level = "L0"
    budget: BatchBudget = field(default_factory=BatchBudget)
    bypass: bool = False
    approval: Approval = "at-end"
    signin: Verdict = "ask"
    unplanned: Unplanned | None = None

    def deny_reads(self) -> list[PolicyRule]:
        """Return the rules that deny reading files."""
        return [rule for rule in self.rules if rule.verdict == "deny" and rule.subject == "read"]


def compile_policy(
    user: Policy | None = None, project: Policy | None = None, *, trusted: bool = False, bypass: bool = False
) -> CompiledPolicy:
    """Return the policy from both files. An untrusted project only tightens it; no project loosens the user's."""
    mine, theirs = user or Policy(), project or Policy()
    rules = (*mine.rules, *(rule for rule in theirs.rules if trusted or rule.verdict != "allow"))
    loosening = theirs if trusted else Policy()
    return CompiledPolicy(
        **{
            verdict: Rules([rule for rule in rules if rule.verdict == verdict], verdict)
            for verdict in ("deny", "ask", "allow")
        },
        autopilot=Rules((*mine.autopilot, *loosening.autopilot), "allow"),
        edits=NarrowMatcher((*mine.edits, *loosening.edits)),
        rules=rules,
        mode=_stricter_mode(mine.mode, loosening.mode),
        # The stricter of both applies, so even an untrusted project may set it.
        way="proposer" if "proposer" in (mine.way, theirs.way) else "contained",
        level=mine.level or loosening.level or "auto",
        minimum=max(mine.minimum, theirs.minimum, key=LEVELS.index),
        budget=_smaller_budget(mine.budget, theirs.budget, trusted),
        bypass=bypass,
        approval=_strictest_choice(APPROVALS, mine.approval, theirs.approval) or "at-end",
        # It belongs to the user: no project can grant it, trusted or not.
        signin=_strictest_choice(VERDICTS, mine.signin or "ask", theirs.signin),
        unplanned="require-task"
        if "require-task" in (mine.unplanned, theirs.unplanned)
        else (mine.unplanned or loosening.unplanned),
    )


def _strictest_choice(order: tuple[Any, ...], *said: Any) -> Any:
    found = [one for one in said if one is not None]
    return min(found, key=order.index) if found else None


def _stricter_mode(mine: Mode | None, theirs: Mode | None) -> Mode:
    # A project can never choose bypass.
    if theirs is None or theirs == "bypass":
        return mine or "default"
    return theirs if mine is None else min(mine, theirs, key=MODES.index)


def _smaller_budget(mine: BatchBudget | None, theirs: BatchBudget | None, trusted: bool) -> BatchBudget:
    if theirs is None:
        return mine or BatchBudget()
    if mine is None and trusted:
        return theirs
    ours = mine or BatchBudget()
    return BatchBudget(**{name: min(getattr(ours, name), getattr(theirs, name)) for name in ours.__dataclass_fields__})


def why_unreadable(policy: CompiledPolicy, path: str) -> str | None:
    """Return the rule that denies reading `path`, including history and search, or None."""
    from gitnexus.policy.builtin import secret_pattern_for

    if why_path_odd(path) or enters_git(path):
        return "builtin.path"
    if secret_pattern_for(path):
        return "builtin.secret"
    return next((rule.id for rules in policy.deny.unreadable() if (rule := rules.deciding(path))), None)


def make_read_check(policy: CompiledPolicy) -> Callable[[str], str | None]:
    """Return a function from a path to the rule that denies reading it, or None."""
    return partial(why_unreadable, policy)


def paths_to_write(request: Request) -> tuple[str, ...]:
    """Return the paths that a request writes."""
    if isinstance(request, PatchRequest):
        return tuple(change.path for change in request.changes)
    return (request.path,) if isinstance(request, DocumentRequest) else ()
