"""The law in force: built-ins, the user's policy and the project's, compiled once and asked often."""

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
from gitnexus.policy.patterns import Argv, Narrow, Wide, is_literal
from gitnexus.policy.programs import name_of, unwrapped
from gitnexus.policy.rules import Budget, Policy, Rule, SandboxLevel, Unplanned

LEVELS: tuple[Level, ...] = ("L0", "L1", "L2", "L3")
NETWORKS = ("none", "loopback", "full")
# From the strictest to the loosest.
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "autopilot", "bypass")
APPROVALS: tuple[Approval, ...] = ("per-action", "at-end")
VERDICTS: tuple[Verdict, ...] = ("deny", "ask", "allow")


class PathRules:
    """The path rules of one verdict for one role and kind: one expression for all of their patterns."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        rows = [(pattern, rule) for rule in rules for pattern in rule.patterns]
        patterns = [pattern for pattern, _ in rows]
        self._rules = [rule for _, rule in rows]
        self._match = (Narrow if rules[0].verdict == "allow" else Wide)(patterns)
        self.literal = frozenset(filter(is_literal, patterns))
        self.kind = rules[0].kind

    def deciding(self, path: str) -> Rule | None:
        """Return the first rule that speaks about `path`."""
        at = self._match.first(path)
        return None if at is None else self._rules[at]


class Rules:
    """The rules of one verdict, sorted by what they speak about."""

    def __init__(self, rules: Iterable[Rule], verdict: Verdict) -> None:
        self.verdict = verdict
        rules = list(rules)
        self.is_empty = not rules
        self._paths: list[tuple[str, str, str, PathRules]] = []
        self._runs: dict[str, list[tuple[Argv, Rule]]] = {}
        self._rest: list[Rule] = []
        groups: dict[tuple[str, str, str], list[Rule]] = {}
        for rule in rules:
            if rule.subject in ("read", "write"):
                groups.setdefault((rule.subject, rule.role, rule.kind), []).append(rule)
            elif rule.subject == "run":
                pattern = Argv(rule.patterns, rule.id)
                self._runs.setdefault(self._key(pattern.program), []).append((pattern, rule))
            else:
                self._rest.append(rule)
        self._paths = [(*key, PathRules(found)) for key, found in groups.items()]

    def _key(self, program: str | None) -> str:
        """What allows must be called by the very word; what denies is found by any path to the program."""
        return "" if program is None else program if self.verdict == "allow" else name_of(program)

    def paths_for(self, request: Request, subjects: Sequence[str]) -> list[PathRules]:
        """Return the path rules that concern a request."""
        return [
            rules
            for subject, role, kind, rules in self._paths
            if subject in subjects and self._concerns(role, kind, request)
        ]

    def unreadable(self) -> list[PathRules]:
        """Return the path rules about reading, whatever the role."""
        return [rules for subject, _, _, rules in self._paths if subject == "read"]

    @property
    def has_runs(self) -> bool:
        """True if there is a rule about commands."""
        return bool(self._runs)

    def runs_for(self, request: CommandRequest, part: tuple[str, ...] = ()) -> Iterator[tuple[Argv, Rule]]:
        """Yield the command rules that match a request, or a `part` of what it hands to a shell."""
        if not self._runs:
            return
        lines = [part or request.argv]
        if self.verdict != "allow":
            lines = unwrapped(lines[0])
            lines += [(name_of(line[0]), *line[1:]) for line in lines if line[0]]
            lines += [] if part else [(name_of(request.program), *request.argv[1:])]
        for line in lines:
            for pattern, rule in (*self._runs.get(self._key(line[0]), ()), *self._runs.get("", ())):
                if self._concerns(rule.role, rule.kind, request) and self._fits(pattern, line):
                    yield pattern, rule

    def _fits(self, pattern: Argv, line: Sequence[str]) -> bool:
        if pattern.matches(line):
            return True
        # `deny: run: [/usr/bin/curl, **]` means curl, however it is called.
        program = pattern.program
        return self.verdict != "allow" and program is not None and pattern.matches((program, *line[1:]))

    def others_for(self, request: Request) -> Iterator[Rule]:
        """Yield the rules about hosts, handoffs and whole kinds that match a request."""
        for rule in self._rest:
            if self._concerns(rule.role, rule.kind, request) and self._speaks(rule, request):
                yield rule

    def _speaks(self, rule: Rule, request: Request) -> bool:
        if rule.subject == "handoff":
            sides = (request.sender, request.receiver) if isinstance(request, HandoffRequest) else None
            return sides is not None and all(one in ("*", side) for one, side in zip(rule.patterns, sides, strict=True))
        if rule.subject == "hosts":
            return isinstance(request, NetworkRequest) and self._hosts(rule, request.hosts)
        return rule.kind == request.kind

    def _hosts(self, rule: Rule, hosts: Sequence[str]) -> bool:
        hits = [any(host_matches(pattern, host) for pattern in rule.patterns) for host in hosts]
        return bool(hits) and all(hits) if self.verdict == "allow" else any(hits)

    def _concerns(self, role: str, kind: str, request: Request) -> bool:
        # A request that does not tell its role is held to what any role is held to.
        said = role in ("", request.role) or (self.verdict != "allow" and request.role == "")
        return said and (kind in ("", request.kind))


def host_matches(pattern: str, host: str) -> bool:
    """True if a host of a request is one that a pattern means; without a port it means any."""
    if pattern == "*":
        return True
    name, _, port = pattern.partition(":")
    host_name, _, host_port = host.lower().partition(":")
    if port and port != host_port:
        return False
    return host_name.endswith(name[1:]) if name.startswith("*.") else host_name == name


@dataclass(frozen=True, slots=True)
class Law:
    """All that the gate asks. `mode` is what the files say; `bypass` is whether the user switched that mode on.

    `approval` is when an agent that edits by itself is asked about, `signin` whether it is lent the person's sign-in.
    `unplanned` is about edits while no task is open, None where no file says.
    """

    deny: Rules
    ask: Rules
    allow: Rules
    autopilot: Rules
    edits: Narrow
    rules: tuple[Rule, ...]
    mode: Mode = "default"
    way: Way = "contained"
    level: SandboxLevel = "auto"
    minimum: Level = "L0"
    budget: Budget = field(default_factory=Budget)
    bypass: bool = False
    approval: Approval = "at-end"
    signin: Verdict = "ask"
    unplanned: Unplanned | None = None

    def deny_reads(self) -> list[Rule]:
        """Return the rules that keep agents from reading files."""
        return [rule for rule in self.rules if rule.verdict == "deny" and rule.subject == "read"]


def law_of(
    user: Policy | None = None, project: Policy | None = None, *, trusted: bool = False, bypass: bool = False
) -> Law:
    """Return the law of both files. A project that is not trusted only tightens, and no project loosens the user's."""
    mine, theirs = user or Policy(), project or Policy()
    rules = (*mine.rules, *(rule for rule in theirs.rules if trusted or rule.verdict != "allow"))
    loosening = theirs if trusted else Policy()
    return Law(
        **{
            verdict: Rules([rule for rule in rules if rule.verdict == verdict], verdict)
            for verdict in ("deny", "ask", "allow")
        },
        autopilot=Rules((*mine.autopilot, *loosening.autopilot), "allow"),
        edits=Narrow((*mine.edits, *loosening.edits)),
        rules=rules,
        mode=_mode(mine.mode, loosening.mode),
        # The stricter of both holds, so it may come from a project that nobody trusts yet.
        way="proposer" if "proposer" in (mine.way, theirs.way) else "contained",
        level=mine.level or loosening.level or "auto",
        minimum=max(mine.minimum, theirs.minimum, key=LEVELS.index),
        budget=_budget(mine.budget, theirs.budget, trusted),
        bypass=bypass,
        approval=_strictest(APPROVALS, mine.approval, theirs.approval) or "at-end",
        # It is the person's own: no project gives it away, trusted or not.
        signin=_strictest(VERDICTS, mine.signin or "ask", theirs.signin),
        unplanned="require-task"
        if "require-task" in (mine.unplanned, theirs.unplanned)
        else (mine.unplanned or loosening.unplanned),
    )


def _strictest(order: tuple[Any, ...], *said: Any) -> Any:
    found = [one for one in said if one is not None]
    return min(found, key=order.index) if found else None


def _mode(mine: Mode | None, theirs: Mode | None) -> Mode:
    # Bypass is never a project's to choose.
    if theirs is None or theirs == "bypass":
        return mine or "default"
    return theirs if mine is None else min(mine, theirs, key=MODES.index)


def _budget(mine: Budget | None, theirs: Budget | None, trusted: bool) -> Budget:
    if theirs is None:
        return mine or Budget()
    if mine is None and trusted:
        return theirs
    ours = mine or Budget()
    return Budget(**{name: min(getattr(ours, name), getattr(theirs, name)) for name in ours.__dataclass_fields__})


def why_unreadable(law: Law, path: str) -> str | None:
    """Return the rule that keeps every reading verb from `path`, history and search included, or None."""
    from gitnexus.policy.builtin import secret_by
    from gitnexus.policy.paths import enters_git, why_odd

    if why_odd(path) or enters_git(path):
        return "builtin.path"
    if secret_by(path):
        return "builtin.secret"
    return next((rule.id for rules in law.deny.unreadable() if (rule := rules.deciding(path))), None)


def unreadable_under(law: Law) -> Callable[[str], str | None]:
    """Return what a reading verb asks about each path: the rule of `law` that denies it, or None."""
    return partial(why_unreadable, law)


def path_requests(request: Request) -> tuple[str, ...]:
    """Return the paths that a request would write."""
    if isinstance(request, PatchRequest):
        return tuple(change.path for change in request.changes)
    return (request.path,) if isinstance(request, DocumentRequest) else ()
