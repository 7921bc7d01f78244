"""The gate: decides allow, ask or deny from request, policy, grants and mode. Pure; denies what it cannot judge."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.policy.builtin_refusals import builtin_refusal, paths_in_parts
from gitnexus.policy.compiled_rules import MODES, NETWORKS, CompiledPolicy, PathRules, Rules, paths_to_write
from gitnexus.policy.facts import TAGS, Facts, facts_of, tags_of
from gitnexus.policy.grants import ApprovalGrant, GrantContext, grant_covers
from gitnexus.policy.model import CommandRequest, GateDecision, Mode, PatchRequest, PolicyRequest, Request, Verdict
from gitnexus.policy.parts import CommandPart, changes_folder, parts_of_command
from gitnexus.policy.patterns import literal_word
from gitnexus.policy.request import KINDS
from gitnexus.policy.rules import PolicyRule
from gitnexus.policy.shell import TooMuch
from gitnexus.policy.unlisted import why_may_run_denied
from gitnexus.policy.unread import unread_files, unread_runs

# Tags that a rule may permit by naming the exact file, except in the modes that act on their own.
LIFTED = frozenset({"hooks", "attributes", "ci", "agent_config", "executes_later"})

_OR_FREED = ", or unconfined: true in that rule"


class BatchUsage:
    """What a batch has done so far without asking a person."""

    __slots__ = ("commands", "paths", "risk")

    def __init__(self, paths: frozenset[str] = frozenset(), commands: int = 0, risk: int = 0) -> None:
        self.paths = paths
        self.commands = commands
        self.risk = risk

    def after(self, request: Request, risk: int) -> "BatchUsage":
        """Return the usage after `request` is done as well."""
        more = isinstance(request, CommandRequest)
        return BatchUsage(self.paths | set(paths_to_write(request)), self.commands + more, self.risk + risk)

    @property
    def directories(self) -> int:
        """The number of folders touched."""
        return len({path.rpartition("/")[0] for path in self.paths})


@dataclass(frozen=True, slots=True)
class GateContext(GrantContext):
    """What the caller knows besides the request. `used` is None if nobody counts: then autopilot asks.

    `folder` says why a command's folder is not safe: something there makes its program run something else.
    """

    used: BatchUsage | None = None
    folder: str = ""


@dataclass(slots=True)
class GateReason:
    """A verdict before the facts are applied to it."""

    verdict: Verdict
    rule: str
    why: str
    instead: str = ""


@dataclass(slots=True)
class _Case:
    """One request with everything needed to judge it."""

    request: Request
    paths: tuple[str, ...]
    policy: CompiledPolicy
    mode: Mode
    facts: Facts
    world: GateContext
    grants: Sequence[ApprovalGrant] = field(default=())
    now: datetime | None = None


_NOWHERE = GateContext()
_ERRORS = (NexusError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
           ValueError, re.error)  # fmt: skip


def decide_request(
    request: Request,
    policy: CompiledPolicy,
    grants: Sequence[ApprovalGrant] = (),
    mode: Mode | None = None,
    *,
    world: GateContext = _NOWHERE,
    now: datetime | None = None,
) -> GateDecision:
    """Return allow, ask or deny with the deciding rule. `mode` is the policy's unless a person chose another."""
    try:
        if KINDS.get(request.kind) is not type(request):
            return _deny_unjudged("it is not a request of a known kind")
        return _compute_decision(request, policy, tuple(grants), policy.mode if mode is None else mode, world, now)
    except _ERRORS as exc:
        return _deny_unjudged(f"it could not be judged ({type(exc).__name__}: {one_line(str(exc), 120)})")


def judge_user_command(
    request: CommandRequest, policy: CompiledPolicy, mode: Mode | None = None, *, world: GateContext = _NOWHERE
) -> GateDecision:
    """Return what people's rules decide on a command that a person named: deny, ask, else allow.

    The built-in lists are for agents' proposals; the sandbox hides secret files from such a command.
    """
    try:
        facts = facts_of(request, world.worktree)
        case = _Case(request, (), policy, policy.mode if mode is None else mode, facts, world)
        asking = _first_matching_rule(policy.ask, case, ("write",)) if case.mode != "bypass" else None
        found = _find_denial(case)
        if found is None and asking is not None:
            found = GateReason("ask", asking[0].id, _describe_match(*asking), _removal_command(asking[0]))
        if found is None and case.mode != "bypass" and not _is_spelled(policy, request):
            found = unread(request, policy)
    except TooMuch:
        return _deny_unjudged("the text that it hands to a shell is too long or too deep to be examined")
    except _ERRORS as exc:
        return _deny_unjudged(f"it could not be judged ({type(exc).__name__}: {one_line(str(exc), 120)})")
    found = found or GateReason("allow", "silence", "no rule covers it")
    return GateDecision(
        verdict=found.verdict, rule=found.rule, why=found.why, risk=facts.risk, tags=facts.tags, instead=found.instead
    )


def unread(request: CommandRequest, policy: CompiledPolicy, parts: Sequence[CommandPart] = ()) -> GateReason | None:
    """Return a question about a command that does not show what it runs or reads, if a rule denies some of it.

    `parts` are the command's parts, if they differ from its own words. Raises: TooMuch.
    """
    for subject, find, what in (("run", unread_runs, "program it runs"), ("read", unread_files, "files it reads")):
        rule = policy.deny.first_about(subject, request)
        words = find(parts or parts_of_command(request.argv, request.cwd)) if rule is not None else None
        if rule is not None and words is not None:
            which = "folder it enters" if changes_folder(words.split()) else what
            why = f"`{one_line(words, 80)}` does not say which {which}, and {rule.id} denies some ({rule.line})"
            return GateReason("ask", "unread", why, f"a command whose words say which {which}")
    why = why_may_run_denied(request, policy.deny, parts)
    return GateReason("ask", "unread", why, "a command without these words") if why else None


def _is_spelled(policy: CompiledPolicy, request: CommandRequest) -> bool:
    """True if an allow rule spells out every word of the command."""
    return any(not pattern.wild_places(request.argv) for pattern, _ in policy.allow.runs_for(request))


def _deny_unjudged(why: str) -> GateDecision:
    instead = "nothing: what cannot be judged is denied"
    return GateDecision(verdict="deny", rule="error", why=why, risk=4, tags=(), instead=instead)


def _compute_decision(
    request: Request,
    policy: CompiledPolicy,
    grants: Sequence[ApprovalGrant],
    mode: Mode,
    world: GateContext,
    now: datetime | None,
) -> GateDecision:
    if mode not in MODES:
        return _deny_unjudged("there is no such mode")
    refused = builtin_refusal(request, policy)
    if refused is not None:
        rule, why = refused
        tags = _safe_tags(request, rule)
        instead = "nothing: this is built in" if rule != "builtin.sandbox" else "a stronger sandbox, or a lower minimum"
        return GateDecision(verdict="deny", rule=rule, why=why, risk=4, tags=tags, instead=instead)
    facts = facts_of(request, world.worktree)
    case = _Case(request, paths_to_write(request), policy, mode, facts, world, grants, now)
    found = _find_denial(case) or _decide_undenied(case)
    return GateDecision(
        verdict=found.verdict, rule=found.rule, why=found.why, risk=facts.risk, tags=facts.tags, instead=found.instead
    )


def _safe_tags(request: Request, rule: str) -> tuple[str, ...]:
    """Return the tags of a refused request; none if the request itself is malformed."""
    return () if rule in ("builtin.argv", "builtin.request", "builtin.path") else facts_of(request).tags


def _find_denial(case: _Case) -> GateReason | None:
    if case.mode == "bypass" and not case.policy.bypass:
        why = "the mode bypass is not enabled in your own settings"
        return GateReason("deny", "mode.bypass", why, 'set {"policy": {"bypass": true}} in $NEXUS_HOME/settings.json')
    rule = _first_matching_rule(case.policy.deny, case, ("read", "write"))
    if rule is None:
        return None
    return GateReason("deny", rule[0].id, _describe_match(*rule), _removal_command(rule[0]))


def _decide_undenied(case: _Case) -> GateReason:
    policy, request = case.policy, case.request
    always = isinstance(request, PolicyRequest)
    if case.mode == "bypass" and not always:
        return GateReason("allow", "mode.bypass", "the mode is bypass, and nothing denies it", "another mode")
    asking = _first_matching_rule(policy.ask, case, ("write",))
    asked = GateReason("ask", asking[0].id, _describe_match(*asking), _removal_command(asking[0])) if asking else None
    if asked is None and isinstance(request, CommandRequest):
        asked = unread(request, policy)
    found = _find_permission(case)
    if found.verdict == "allow" and asked is None:
        return found
    grant = next(
        (one for one in case.grants if case.now and grant_covers(one, request, case.now, case.world, case.facts)), None
    )
    if grant is not None:
        return GateReason(
            "allow", f"grant.{grant.scope}", f"you approved this until {grant.expires}", "revoking that grant"
        )
    return asked or found


def _first_matching_rule(rules: Rules, case: _Case, subjects: Sequence[str]) -> tuple[PolicyRule, str] | None:
    """Return the first rule of a verdict that matches a request, and what it matches."""
    if rules.is_empty:
        return None
    request = case.request
    speaking = rules.paths_for(request, subjects)
    for path in case.paths if speaking else ():
        for group in speaking:
            if rule := group.deciding(path):
                return rule, path
    if isinstance(request, CommandRequest) and (found := _first_rule_in_parts(rules, case, request)) is not None:
        return found
    return next(((rule, request.kind) for rule in rules.others_for(request)), None)


def _first_rule_in_parts(rules: Rules, case: _Case, request: CommandRequest) -> tuple[PolicyRule, str] | None:
    """Return the first command or read rule that matches any part of a command line."""
    parts = parts_of_command(request.argv, request.cwd)
    for at, part in enumerate(parts):
        for pattern, rule in rules.runs_for(request, part.argv if at else ()) if part.argv and part.argv[0] else ():
            return rule, pattern.program or part.argv[0]  # of `sh -c id` it is id that a rule speaks about
    reading = rules.paths_for(request, ("read",)) if rules.verdict == "deny" else []
    for word, path in paths_in_parts(parts, case.world.worktree) if reading else ():
        for group in reading:
            if denying := group.deciding(path):
                return denying, word
    return None


def _describe_match(rule: PolicyRule, what: str) -> str:
    return f"{one_line(what, 80)}: {rule.line}"


def _removal_command(rule: PolicyRule) -> str:
    return f"git nexus policy remove {rule.id}"


def _find_permission(case: _Case) -> GateReason:
    """Return allow with its rule, or ask with what is missing."""
    request = case.request
    if isinstance(request, CommandRequest):
        found = _permit_command(case, request)
    elif case.paths:
        found = _permit_paths(case)
    else:
        rule = next(case.policy.allow.others_for(request), None)
        found = _ask_by_tags(case, case.facts.asking) if rule is None or case.facts.asking else _allow_by_rule(rule)
    if found.verdict == "allow" and case.mode == "autopilot":
        return _within_budget(case) or found
    return found


def _allow_by_rule(rule: PolicyRule) -> GateReason:
    return GateReason("allow", rule.id, f"allowed: {rule.line}", _removal_command(rule))


def _ask_without_rule(what: str, instead: str) -> GateReason:
    return GateReason("ask", "silence", f"no rule allows {what}", instead)


def _ask_by_tags(case: _Case, tags: Sequence[str]) -> GateReason:
    if not tags:
        return _ask_without_rule(f"this {case.request.kind}", f"git nexus policy add allow --kind {case.request.kind}")
    worst = max(tags, key=lambda tag: TAGS[tag].risk)
    why = f"{TAGS[worst].words} ({one_line(case.facts.seen[worst], 80)})"
    instead = "an approval of this request alone"
    if worst in LIFTED and case.mode == "default":
        instead += f", or: git nexus policy add allow --write {one_line(case.facts.seen[worst], 80)}"
    return GateReason("ask", f"builtin.{worst}", why, instead)


def _permit_paths(case: _Case) -> GateReason:
    policy, request = case.policy, case.request
    groups = policy.allow.paths_for(request, ("write",))
    if not isinstance(request, PatchRequest):
        # A rule about files does not cover our documents unless it says so; one about the whole kind does.
        whole = next(policy.allow.others_for(request), None)
        if whole is not None and not case.facts.asking:
            return _allow_by_rule(whole)
        groups = [group for group in groups if group.kind]
    if case.mode == "autopilot":
        groups = [*groups, *policy.autopilot.paths_for(request, ("write",))]
    first: GateReason | None = None
    for path in case.paths:
        rule = next((found for group in groups if (found := group.deciding(path))), None)
        if rule is not None:
            reason = first or _allow_by_rule(rule)
        elif case.mode == "acceptEdits" and isinstance(request, PatchRequest) and policy.edits.first(path) is not None:
            reason = first or GateReason(
                "allow", "mode.acceptEdits", "edits of these paths are accepted", "another mode"
            )
        else:
            return _ask_by_tags(case, case.facts.asking) if case.facts.asking else _ask_to_write(path)
        first = reason
    held = _remaining_tags(case, groups)
    return _ask_by_tags(case, held) if held or first is None else first


def _ask_to_write(path: str) -> GateReason:
    shown = one_line(path, 80)
    return _ask_without_rule(f"writing {shown}", f"git nexus policy add allow --write {shown}")


def _remaining_tags(case: _Case, groups: Sequence[PathRules]) -> tuple[str, ...]:
    """Return the tags that still ask although all paths are allowed, without those whose file a rule names exactly."""
    request, asking = case.request, case.facts.asking
    if not asking or not isinstance(request, PatchRequest) or case.mode != "default":
        return asking
    named = {path for group in groups for path in group.literal}
    held = set(asking) - LIFTED
    for change in request.changes:
        held |= {tag for tag in tags_of(change) if tag in LIFTED and change.path not in named}
    return tuple(tag for tag in asking if tag in held)


def _permit_command(case: _Case, request: CommandRequest) -> GateReason:
    facts, found = case.facts, None
    shelves = (case.policy.allow, case.policy.autopilot) if case.mode == "autopilot" else (case.policy.allow,)
    for pattern, rule in (row for rules in shelves for row in rules.runs_for(request)):
        harmful = sorted(facts.places.keys() & pattern.wild_places(request.argv)) if facts.places else ()
        if harmful:
            why = f"{one_line(facts.places[harmful[0]], 120)}; {rule.id} does not spell it out"
            held = GateReason(
                "ask", "builtin.unknown_flags", why, "a rule that has this word itself instead of a wildcard"
            )
        else:
            held = _limit_command(case, request, rule)
        if held.verdict == "allow":
            return held
        found = found or held
    if found is not None:
        return found
    why = facts.seen.get("escalates") or facts.seen.get("unknown_flags") or ""
    said = f"running {one_line(request.argv[0], 60)}" + (f"; {one_line(why, 120)}" if why else "")
    words = shlex.join(map(literal_word, request.argv))
    return _ask_without_rule(said, f"git nexus policy add allow -- {one_line(words, 160)}")


def _limit_command(case: _Case, request: CommandRequest, rule: PolicyRule) -> GateReason:
    tags = case.facts.tags
    # A command without a sandbox also has network access.
    freed = request.sandbox == "L0" and rule.unconfined
    if NETWORKS.index(request.network) > NETWORKS.index(rule.network) and not freed:
        asks = "nothing keeps it from the network here" if request.sandbox == "L0" else "it asks for the network"
        why = f"{asks} ({request.network}), and {rule.id} gives {rule.network}"
        instead = f"network: {request.network} in that rule"
        return GateReason("ask", "builtin.network", why, instead + (_OR_FREED if request.sandbox == "L0" else ""))
    if "path_in_worktree" in tags:
        return _ask_by_tags(case, ("path_in_worktree",))
    if "runs_tree" in tags and "/" not in request.argv[0]:
        why = f"{one_line(request.program, 80)} lies where agents write, and the rule names a program of the system"
        return GateReason("ask", "builtin.runs_tree", why, "a rule that names the program by its path")
    if request.sandbox == "L0" and case.world.folder:
        return GateReason(
            "ask", "builtin.folder", case.world.folder, "an approval of this request alone, or a sandbox of at least L1"
        )
    if request.sandbox == "L0" and case.world.executed_changed and not freed:
        why = "files that it may execute have changed, and nothing confines it"
        return GateReason("ask", "builtin.no_sandbox", why, "a sandbox of at least L1" + _OR_FREED)
    return _allow_by_rule(rule)


def _within_budget(case: _Case) -> GateReason | None:
    """Return ask if the whole batch would exceed what autopilot may do, else None."""
    budget, used = case.policy.budget, case.world.used
    if used is None:
        return GateReason("ask", "mode.autopilot", "the budget of this batch is unknown", "a batch with a count")
    after = used.after(case.request, case.facts.risk)
    for what, count, most in (
        ("files", len(after.paths), budget.files),
        ("directories", after.directories, budget.directories),
        ("commands", after.commands, budget.commands),
        ("risk", after.risk, budget.risk),
    ):
        if count > most:
            why = f"with this the batch comes to {count} {what}, and autopilot may go to {most}"
            return GateReason("ask", "mode.autopilot", why, f"autopilot.budget.{what} in your policy, or a new batch")
    return None
