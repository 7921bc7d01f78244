"""The gate: a pure function of request, law, grants and mode. It never acts, and denies what it cannot judge."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.policy.facts import TAGS, Facts, facts_of, tags_of
from gitnexus.policy.grants import Around, Grant, covers
from gitnexus.policy.law import MODES, NETWORKS, Law, PathRules, Rules, path_requests
from gitnexus.policy.model import CommandRequest, Decision, Mode, PatchRequest, PolicyRequest, Request, Verdict
from gitnexus.policy.parts import parts_of
from gitnexus.policy.patterns import literal_word
from gitnexus.policy.refuse import named_paths, refusal
from gitnexus.policy.request import KINDS
from gitnexus.policy.rules import Rule
from gitnexus.policy.shell import TooMuch, is_opaque

# Tags that a rule may speak for by naming the very file, outside of the modes that act by themselves.
LIFTED = frozenset({"hooks", "attributes", "ci", "agent_config", "executes_later"})

_OR_FREED = ", or unconfined: true in that rule"


class Used:
    """What a batch has done so far without a person."""

    __slots__ = ("commands", "paths", "risk")

    def __init__(self, paths: frozenset[str] = frozenset(), commands: int = 0, risk: int = 0) -> None:
        self.paths = paths
        self.commands = commands
        self.risk = risk

    def after(self, request: Request, risk: int) -> "Used":
        """Return the count once `request` is done as well."""
        more = isinstance(request, CommandRequest)
        return Used(self.paths | set(path_requests(request)), self.commands + more, self.risk + risk)

    @property
    def directories(self) -> int:
        """How many folders it has touched."""
        return len({path.rpartition("/")[0] for path in self.paths})


@dataclass(frozen=True, slots=True)
class World(Around):
    """What the caller knows beside the request. `used` is None where nobody counts: then autopilot asks.

    `folder` says why the folder of a command is no plain one: something there makes its program run something else.
    """

    used: Used | None = None
    folder: str = ""


@dataclass(slots=True)
class Reason:
    """A verdict before the facts are put to it."""

    verdict: Verdict
    rule: str
    why: str
    instead: str = ""


@dataclass(slots=True)
class _Case:
    """One request with all that is needed to judge it."""

    request: Request
    paths: tuple[str, ...]
    law: Law
    mode: Mode
    facts: Facts
    world: World
    grants: Sequence[Grant] = field(default=())
    now: datetime | None = None


_NOWHERE = World()
_ERRORS = (NexusError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
           ValueError, re.error)  # fmt: skip


def decide(
    request: Request,
    law: Law,
    grants: Sequence[Grant] = (),
    mode: Mode | None = None,
    *,
    world: World = _NOWHERE,
    now: datetime | None = None,
) -> Decision:
    """Return allow, ask or deny, with the rule that says so. `mode` is the law's unless a person chose another."""
    try:
        if KINDS.get(request.kind) is not type(request):
            return _unjudged("it is no request of a known kind")
        return _decision(request, law, tuple(grants), law.mode if mode is None else mode, world, now)
    except _ERRORS as exc:
        return _unjudged(f"it could not be judged ({type(exc).__name__}: {one_line(str(exc), 120)})")


def rule_about(request: CommandRequest, law: Law, mode: Mode | None = None, *, world: World = _NOWHERE) -> Decision:
    """Return what the rules that people wrote say to a command that a person named: deny, ask, else allow.

    The built-in lists are for what agents propose; what they keep secret the sandbox keeps from such a command.
    """
    try:
        facts = facts_of(request, world.worktree)
        case = _Case(request, (), law, law.mode if mode is None else mode, facts, world)
        asking = _spoken(law.ask, case, ("write",)) if case.mode != "bypass" else None
        found = _denied(case)
        if found is None and asking is not None:
            found = Reason("ask", asking[0].id, _words(*asking), _removal(asking[0]))
        if found is None and law.deny.has_runs and case.mode != "bypass":
            found = _unread(request)
    except TooMuch:
        return _unjudged("the text that it hands to a shell is too long or too deep to be looked at")
    except _ERRORS as exc:
        return _unjudged(f"it could not be judged ({type(exc).__name__}: {one_line(str(exc), 120)})")
    found = found or Reason("allow", "silence", "no rule speaks about it")
    return Decision(
        verdict=found.verdict, rule=found.rule, why=found.why, risk=facts.risk, tags=facts.tags, instead=found.instead
    )


def _unread(request: CommandRequest) -> Reason | None:
    """Return a question about a text for a shell that does not tell which program it runs, where one may be denied."""
    opaque = next((part for part in parts_of(request.argv, request.cwd)[1:] if is_opaque(part.argv)), None)
    if opaque is None:
        return None
    words = one_line(" ".join(opaque.argv), 80)
    return Reason(
        "ask", "unread", f"which program `{words}` runs only a shell can tell", "name the program in the text"
    )


def _unjudged(why: str) -> Decision:
    instead = "nothing: what cannot be judged is denied"
    return Decision(verdict="deny", rule="error", why=why, risk=4, tags=(), instead=instead)


def _decision(
    request: Request, law: Law, grants: Sequence[Grant], mode: Mode, world: World, now: datetime | None
) -> Decision:
    if mode not in MODES:
        return _unjudged("there is no such mode")
    refused = refusal(request, law)
    if refused is not None:
        rule, why = refused
        tags = _safe_tags(request, rule)
        instead = "nothing: this is built in" if rule != "builtin.sandbox" else "a stronger sandbox, or a lower minimum"
        return Decision(verdict="deny", rule=rule, why=why, risk=4, tags=tags, instead=instead)
    facts = facts_of(request, world.worktree)
    case = _Case(request, path_requests(request), law, mode, facts, world, grants, now)
    found = _denied(case) or _undenied(case)
    return Decision(
        verdict=found.verdict, rule=found.rule, why=found.why, risk=facts.risk, tags=facts.tags, instead=found.instead
    )


def _safe_tags(request: Request, rule: str) -> tuple[str, ...]:
    """Return the tags of a refused request, none where its form itself is what was refused."""
    return () if rule in ("builtin.argv", "builtin.request", "builtin.path") else facts_of(request).tags


def _denied(case: _Case) -> Reason | None:
    if case.mode == "bypass" and not case.law.bypass:
        why = "the mode bypass is not enabled in your own settings"
        return Reason("deny", "mode.bypass", why, 'set {"policy": {"bypass": true}} in $NEXUS_HOME/settings.json')
    rule = _spoken(case.law.deny, case, ("read", "write"))
    if rule is None:
        return None
    return Reason("deny", rule[0].id, _words(*rule), _removal(rule[0]))


def _undenied(case: _Case) -> Reason:
    law, request = case.law, case.request
    always = isinstance(request, PolicyRequest)
    if case.mode == "bypass" and not always:
        return Reason("allow", "mode.bypass", "the mode is bypass, and nothing denies it", "another mode")
    asking = _spoken(law.ask, case, ("write",))
    asked = Reason("ask", asking[0].id, _words(*asking), _removal(asking[0])) if asking else None
    found = _allowed(case)
    if found.verdict == "allow" and asked is None:
        return found
    grant = next(
        (one for one in case.grants if case.now and covers(one, request, case.now, case.world, case.facts)), None
    )
    if grant is not None:
        return Reason(
            "allow", f"grant.{grant.scope}", f"you said yes to this until {grant.expires}", "revoking that grant"
        )
    return asked or found


def _spoken(rules: Rules, case: _Case, subjects: Sequence[str]) -> tuple[Rule, str] | None:
    """Return the first rule of a verdict that speaks about a request, and what it speaks about."""
    if rules.is_empty:
        return None
    request = case.request
    speaking = rules.paths_for(request, subjects)
    for path in case.paths if speaking else ():
        for group in speaking:
            if rule := group.deciding(path):
                return rule, path
    if isinstance(request, CommandRequest) and (found := _spoken_in_parts(rules, case, request)) is not None:
        return found
    return next(((rule, request.kind) for rule in rules.others_for(request)), None)


def _spoken_in_parts(rules: Rules, case: _Case, request: CommandRequest) -> tuple[Rule, str] | None:
    """Return the first rule about a command, or about reading, that speaks about any part of a command line."""
    parts = parts_of(request.argv, request.cwd)
    for at, part in enumerate(parts):
        for _, rule in rules.runs_for(request, part.argv if at else ()) if part.argv and part.argv[0] else ():
            return rule, part.argv[0]
    reading = rules.paths_for(request, ("read",)) if rules.verdict == "deny" else []
    for word, path in named_paths(parts, case.world.worktree) if reading else ():
        for group in reading:
            if denying := group.deciding(path):
                return denying, word
    return None


def _words(rule: Rule, what: str) -> str:
    return f"{one_line(what, 80)}: {rule.line}"


def _removal(rule: Rule) -> str:
    return f"git nexus policy remove {rule.id}"


def _allowed(case: _Case) -> Reason:
    """Return allow with its rule, or an ask that tells what is missing."""
    request = case.request
    if isinstance(request, CommandRequest):
        found = _command_allowed(case, request)
    elif case.paths:
        found = _paths_allowed(case)
    else:
        rule = next(case.law.allow.others_for(request), None)
        found = _tagged(case, case.facts.asking) if rule is None or case.facts.asking else _yes(rule)
    if found.verdict == "allow" and case.mode == "autopilot":
        return _within_budget(case) or found
    return found


def _yes(rule: Rule) -> Reason:
    return Reason("allow", rule.id, f"allowed: {rule.line}", _removal(rule))


def _silence(what: str, instead: str) -> Reason:
    return Reason("ask", "silence", f"no rule allows {what}", instead)


def _tagged(case: _Case, tags: Sequence[str]) -> Reason:
    if not tags:
        return _silence(f"this {case.request.kind}", f"git nexus policy add allow --kind {case.request.kind}")
    worst = max(tags, key=lambda tag: TAGS[tag].risk)
    why = f"{TAGS[worst].words} ({one_line(case.facts.seen[worst], 80)})"
    instead = "a yes for this request alone"
    if worst in LIFTED and case.mode == "default":
        instead += f", or: git nexus policy add allow --write {one_line(case.facts.seen[worst], 80)}"
    return Reason("ask", f"builtin.{worst}", why, instead)


def _paths_allowed(case: _Case) -> Reason:
    law, request = case.law, case.request
    groups = law.allow.paths_for(request, ("write",))
    if not isinstance(request, PatchRequest):
        # A rule about files does not mean our documents, unless it says so; one about the whole kind does.
        whole = next(law.allow.others_for(request), None)
        if whole is not None and not case.facts.asking:
            return _yes(whole)
        groups = [group for group in groups if group.kind]
    if case.mode == "autopilot":
        groups = [*groups, *law.autopilot.paths_for(request, ("write",))]
    first: Reason | None = None
    for path in case.paths:
        rule = next((found for group in groups if (found := group.deciding(path))), None)
        if rule is not None:
            reason = first or _yes(rule)
        elif case.mode == "acceptEdits" and isinstance(request, PatchRequest) and law.edits.first(path) is not None:
            reason = first or Reason("allow", "mode.acceptEdits", "edits of these paths are accepted", "another mode")
        else:
            return _tagged(case, case.facts.asking) if case.facts.asking else _unwritten(path)
        first = reason
    held = _held(case, groups)
    return _tagged(case, held) if held or first is None else first


def _unwritten(path: str) -> Reason:
    shown = one_line(path, 80)
    return _silence(f"to write {shown}", f"git nexus policy add allow --write {shown}")


def _held(case: _Case, groups: Sequence[PathRules]) -> tuple[str, ...]:
    """Return the tags that ask although all paths are allowed, less those that a rule names the very file of."""
    request, asking = case.request, case.facts.asking
    if not asking or not isinstance(request, PatchRequest) or case.mode != "default":
        return asking
    named = {path for group in groups for path in group.literal}
    held = set(asking) - LIFTED
    for change in request.changes:
        held |= {tag for tag in tags_of(change) if tag in LIFTED and change.path not in named}
    return tuple(tag for tag in asking if tag in held)


def _command_allowed(case: _Case, request: CommandRequest) -> Reason:
    facts, found = case.facts, None
    shelves = (case.law.allow, case.law.autopilot) if case.mode == "autopilot" else (case.law.allow,)
    for pattern, rule in (row for rules in shelves for row in rules.runs_for(request)):
        harmful = sorted(facts.places.keys() & pattern.wild(request.argv)) if facts.places else ()
        if harmful:
            why = f"{one_line(facts.places[harmful[0]], 120)}; {rule.id} does not spell it out"
            held = Reason("ask", "builtin.unknown_flags", why, "a rule that has this word itself instead of a wildcard")
        else:
            held = _command_held(case, request, rule)
        if held.verdict == "allow":
            return held
        found = found or held
    if found is not None:
        return found
    why = facts.seen.get("escalates") or facts.seen.get("unknown_flags") or ""
    said = f"to run {one_line(request.argv[0], 60)}" + (f"; {one_line(why, 120)}" if why else "")
    words = shlex.join(map(literal_word, request.argv))
    return _silence(said, f"git nexus policy add allow -- {one_line(words, 160)}")


def _command_held(case: _Case, request: CommandRequest, rule: Rule) -> Reason:
    tags = case.facts.tags
    # Where nothing confines a command, nothing keeps it from the network either.
    freed = request.sandbox == "L0" and rule.unconfined
    if NETWORKS.index(request.network) > NETWORKS.index(rule.network) and not freed:
        why = f"it asks for the network ({request.network}), and {rule.id} gives {rule.network}"
        instead = f"network: {request.network} in that rule"
        return Reason("ask", "builtin.network", why, instead + (_OR_FREED if request.sandbox == "L0" else ""))
    if "path_in_worktree" in tags:
        return _tagged(case, ("path_in_worktree",))
    if "runs_tree" in tags and "/" not in request.argv[0]:
        why = f"{one_line(request.program, 80)} lies where agents write, and the rule names a program of the system"
        return Reason("ask", "builtin.runs_tree", why, "a rule that names the program by its path")
    if request.sandbox == "L0" and case.world.folder:
        return Reason(
            "ask", "builtin.folder", case.world.folder, "a yes for this request alone, or a sandbox of at least L1"
        )
    if request.sandbox == "L0" and case.world.executed_changed and not freed:
        why = "files that it may execute have changed, and nothing confines it"
        return Reason("ask", "builtin.no_sandbox", why, "a sandbox of at least L1" + _OR_FREED)
    return _yes(rule)


def _within_budget(case: _Case) -> Reason | None:
    """Return an ask if the batch as a whole would go beyond what autopilot may do."""
    budget, used = case.law.budget, case.world.used
    if used is None:
        return Reason("ask", "mode.autopilot", "nobody counts what this batch does", "a batch with a count")
    after = used.after(case.request, case.facts.risk)
    for what, count, most in (
        ("files", len(after.paths), budget.files),
        ("directories", after.directories, budget.directories),
        ("commands", after.commands, budget.commands),
        ("risk", after.risk, budget.risk),
    ):
        if count > most:
            why = f"with this the batch comes to {count} {what}, and autopilot may go to {most}"
            return Reason("ask", "mode.autopilot", why, f"autopilot.budget.{what} in your policy, or a new batch")
    return None
