"""Orders the agents that are set for a role by what happened with them before. Pure; the caller reads the logs."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gitnexus.base.document import Document, Many
from gitnexus.events.measure import WorkerTally
from gitnexus.workflow.definition import SPECIALISTS, NodeType

# So many results of two agents are needed before their shares are compared.
ENOUGH = 5


class AgentCandidate(Document):
    """One agent of a role's list. `good_at` are kinds of nodes, or words of requests, that it is meant for."""

    agent: str
    good_at: Many[str] = ()


class AgentChoice(Document):
    """Who does a node, and why: `others` are asked in this order when it is down."""

    node: str
    agent: str
    why: str
    others: Many[str] = ()


class _Figure(NamedTuple):
    """One thing that is counted: how its good share is said, and where the counts are."""

    words: str
    good: str
    bad: str

    def counts(self, tally: WorkerTally) -> tuple[int, int]:
        """Return how many were good, and of how many."""
        good = int(getattr(tally, self.good))
        return good, good + int(getattr(tally, self.bad))


_TESTS = _Figure("patches passed their tests", "passed", "broken")
_PATCHES = _Figure("patches applied", "applied", "unfit")
_FORMS = _Figure("answers kept their form", "valid", "invalid")
# The figures by which agents are compared, the one that says most first.
_OF_CHANGES, _OF_ANSWERS = (_TESTS, _PATCHES, _FORMS), (_FORMS,)


def rank_agents(
    candidates: Sequence[AgentCandidate],
    tallies: Mapping[str, WorkerTally],
    kind: NodeType,
    prompt: str,
    why_down: Callable[[str], str],
) -> tuple[tuple[str, ...], str]:
    """Return the agents for a node of a kind, the best first, and the reason in words.

    `tallies` is what happened with each agent in that role and kind of task. An agent that is down comes last. Of
    those that are left the ones whose hints fit come first; within them decides the first figure of which two have
    enough results, and where there is none the order of the list.
    """
    reasons = {one.agent: why_down(one.agent) for one in candidates}
    there = [one for one in candidates if not reasons[one.agent]] or list(candidates)
    fits = [one for one in there if _fits(one, kind, prompt)]
    neutral = [one for one in there if not one.good_at]
    rest = [one for one in there if one not in fits and one not in neutral]
    order: list[str] = []
    said = ""
    for group in (fits, neutral, rest):
        names, why = _rank_by_results([one.agent for one in group], tallies, kind)
        said = said or (why if group else "")
        order += names
    hint = f"{', '.join(one.agent for one in fits)} is set for such work" if fits and len(fits) < len(there) else ""
    down = [f"{name} is down: {why}" for name, why in reasons.items() if why]
    order += [one.agent for one in candidates if one.agent not in order]
    return tuple(order), "; ".join(filter(None, [*down, hint, said]))


def _fits(candidate: AgentCandidate, kind: NodeType, prompt: str) -> bool:
    for hint in candidate.good_at:
        if hint in SPECIALISTS:
            if hint == kind:
                return True
        elif re.search(rf"(?<!\w){re.escape(hint)}(?!\w)", prompt, re.IGNORECASE):
            return True
    return False


def _rank_by_results(names: list[str], tallies: Mapping[str, WorkerTally], kind: NodeType) -> tuple[list[str], str]:
    if len(names) < 2:
        return names, ""
    figures = _OF_CHANGES if kind in ("exec", "command") else _OF_ANSWERS
    for figure in figures:
        known = [name for name in names if figure.counts(tallies.get(name, WorkerTally()))[1] >= ENOUGH]
        if len(known) > 1:
            return _reordered(names, known, tallies, figure), _shares_in_words(known, tallies, figure)
    counted = [name for name in names if figures[0].counts(tallies.get(name, WorkerTally()))[1]]
    shares = f" ({_shares_in_words(counted, tallies, figures[0])})" if counted else ""
    return names, f"too little to go by{shares}, so in the order of the list"


def _reordered(names: list[str], known: list[str], tallies: Mapping[str, WorkerTally], figure: _Figure) -> list[str]:
    """Return the names with the known ones in order of their results; the others keep their places."""

    def worth(name: str) -> tuple[float, float, float, int]:
        tally = tallies[name]
        good, of = figure.counts(tally)
        steps = max(tally.steps, 1)
        return -good / of, tally.retries / steps, tally.cost / steps, names.index(name)

    best = iter(sorted(known, key=worth))
    return [next(best) if name in known else name for name in names]


def _shares_in_words(names: Sequence[str], tallies: Mapping[str, WorkerTally], figure: _Figure) -> str:
    counts = {name: figure.counts(tallies[name]) for name in names}
    ranked = sorted(names, key=lambda name: -counts[name][0] / counts[name][1])
    first, *rest = [f"{name} {counts[name][0]} of {counts[name][1]}" for name in ranked]
    name, _, share = first.partition(" ")
    return "; ".join([f"{name}: {share} {figure.words}", *rest])


# What programs and servers say when nobody is there, signed in or paid for, as opposed to work that went wrong.
_DOWN = re.compile(
    r"not (?:be )?(?:logged|signed) in|(?:please|must|need to) (?:run )?/?(?:log|sign)[ -]?in|/login\b|"
    r"(?:invalid|incorrect|missing|no|expired) (?:api[ _-]?key|credentials|token)|takes no such key|"
    r"(?-i:\b[A-Z][A-Z0-9_]+ is not set)|"
    r"api[ _-]?key (?:is |was )?(?:not|missing|invalid|expired)|unauthori[sz]ed|not authenticated|"
    r"authentication(?:[ _]error| failed| required)|"
    r"(?:status|error|http|code|answered)\W{0,3}(?:401|402|403|429|5[0-9][0-9])\b|\((?:401|402|403|429)\)|"
    r"rate[ -]?limit|too many requests|asked too often|insufficient_quota|exceeded your [\w ]*quota|credit balance|"
    r"overloaded|service unavailable|cannot be reached|unable to connect|econnrefused|enotfound|etimedout|"
    r"connection (?:refused|error|reset|timed out)|is not on path|is not installed|there is no program|"
    r"no model is set|key cannot be read|holds no key|did not answer in",
    re.IGNORECASE,
)


def is_down_message(message: str) -> bool:
    """Return True if an error says that an agent or its provider is not there, so that another one may be asked."""
    return _DOWN.search(message[:2000]) is not None
