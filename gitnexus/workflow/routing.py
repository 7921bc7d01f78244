"""From a prompt to a proposed workflow: what is said outright, then a small model if there is one, then the rules."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.workflow.commands import Command, filled
from gitnexus.workflow.definition import LONGEST_PROMPT, WorkflowDefinition
from gitnexus.workflow.delegation import delegated
from gitnexus.workflow.macros import DEFAULT, MACROS, Macro, expanded, of_steps
from gitnexus.workflow.proposal import SURE, Alternative, Proposal, Surroundings
from gitnexus.workflow.rules import Reading, prose, reading
from gitnexus.workflow.settings import WorkflowSettings

if TYPE_CHECKING:
    from gitnexus.workflow.smallmodel import Said

# `/plan the migration`: a macro by its name, of ours or of the project's.
_NAMED = re.compile(r"\s*/([a-z][a-z0-9-]{0,39})(?:\s+|$)")
_MOST_ALTERNATIVES = 3


class Known(NamedTuple):
    """What a router chooses from and by: the project's macros, settings, and what is around."""

    commands: Mapping[str, Command]
    settings: WorkflowSettings
    around: Surroundings = Surroundings()
    # Takes secrets out of what leaves; None: those that look like one.
    hide: Callable[[str], str] | None = None

    def definition(self, name: str, prompt: str) -> WorkflowDefinition:
        """Return the workflow of that name for a prompt. Raises: NotFound, Invalid."""
        backed, budgets = self.settings.backed_by(), self.settings.budgets
        if name in MACROS:
            return expanded(MACROS[name], prompt, backed, budgets)
        if name in self.commands:
            return filled(self.commands[name], prompt, backed, budgets)
        raise NotFound(f"there is no workflow {name[:60]!r}", hint="git nexus workflow list shows them")

    def offered(self) -> dict[str, str]:
        """Return the names to choose from, with what each is for."""
        ours = {name: macro.about for name, macro in MACROS.items() if name != "unblock"}
        return {**ours, **{name: command.about for name, command in self.commands.items()}}


def routed(prompt: str, known: Known, *, model: bool = True) -> Proposal:
    """Return the workflow that a prompt asks for. Without `model` only the rules speak. Raises: Invalid, NotFound."""
    if not prompt.strip():
        raise Invalid("say what is to be done", hint='git nexus route "fix the parser"')
    if len(prompt) > LONGEST_PROMPT:
        raise Invalid(f"the prompt is longer than {LONGEST_PROMPT} characters", hint="put it into a file and name that")
    if (found := _named(prompt, known)) or (found := _delegated(prompt, known)):
        return found
    if not (model and known.settings.router.url):
        return _by_rules(prompt, known)
    from gitnexus.redaction import mask
    from gitnexus.workflow.smallmodel import asked  # urllib: only who has a model pays

    try:
        said = asked(known.settings.router, prompt, known.around, known.offered(), known.hide or mask)
    except Failed as exc:
        return _by_rules(prompt, known).changed(fallback=exc.message)
    return _by_model(prompt, said, known)


def _named(prompt: str, known: Known) -> Proposal | None:
    named = _NAMED.match(prompt)
    if named is None:
        return None
    rest = prompt[named.end() :].strip()
    definition = known.definition(named[1], rest)
    return Proposal(definition=definition, source="macro", confidence=100, why=f"you named the workflow {named[1]}")


def _delegated(prompt: str, known: Known) -> Proposal | None:
    found = delegated(prose(prompt))
    if found is None:
        return None
    macro = Macro("-".join(part.type for part in found.parts)[:100], "as you said", found.parts)
    definition = expanded(macro, prompt, known.settings.backed_by(), known.settings.budgets)
    said = ", ".join(f"“{one}”" for one in found.said[:4])
    rules = _by_rules(prompt, known)
    beside = [rules.definition.name, *_others(rules.definition.name, reading(prose(prompt)))]
    names = [] if found.sure else [name for name in beside if name != macro.name][:_MOST_ALTERNATIVES]
    return Proposal(
        definition=definition,
        source="delegation",
        confidence=95 if found.sure else 65,
        why=f"you said who does what: {said}" + ("" if found.sure else ", but not of each part what it is"),
        alternatives=tuple(Alternative(name=name, about=MACROS[name].about) for name in names),
    )


def _by_model(prompt: str, said: "Said", known: Known) -> Proposal:
    others = [name for name in dict.fromkeys(said.alternatives) if name != said.workflow]
    if said.confidence < SURE and len(others) < 2:
        rules = [one.name for one in _by_rules(prompt, known).alternatives]
        others += [name for name in rules if name not in (said.workflow, *others)]
    about = known.offered()
    return Proposal(
        definition=known.definition(said.workflow, prompt),
        source="model",
        confidence=said.confidence,
        why=said.why,
        alternatives=tuple(Alternative(name=name, about=about[name]) for name in others[:_MOST_ALTERNATIVES]),
    )


def _by_rules(prompt: str, known: Known) -> Proposal:
    read = reading(prose(prompt))
    # A review that comes first, or stands alone, looks and changes nothing, as research does.
    after = "exec" in read.kinds and read.kinds[-1] == "review"
    kinds = frozenset("research" if kind == "review" and not after else kind for kind in read.kinds)
    macro = MACROS["exec-review"] if kinds == {"exec", "review"} else of_steps(kinds)
    confidence = _confidence(read)
    names = _others(macro.name, read) if confidence < SURE else []
    return Proposal(
        definition=known.definition(macro.name, prompt),
        source="rules",
        confidence=confidence,
        why=_why(read),
        alternatives=tuple(Alternative(name=name, about=MACROS[name].about) for name in names),
    )


def _confidence(read: Reading) -> int:
    cues = [cue for cue in read.cues if cue.kind in read.kinds]
    if not cues:
        return 30
    if not all(cue.sure for cue in cues):
        return 60 if any(cue.sure for cue in cues) else 50
    return 65 if read.perhaps else 90


def _others(name: str, read: Reading) -> list[str]:
    """Return what else could be meant: with what may be asked for besides, without what only a keyword asks for."""
    kinds = frozenset(read.kinds)
    sure = frozenset(cue.kind for cue in read.cues if cue.sure) & kinds
    wanted = [kinds | read.perhaps, sure, kinds | {"plan"}, kinds | {"exec"}, kinds | {"research"}, frozenset({"exec"})]
    found = [of_steps(frozenset(one)).name for one in wanted if one]
    return [one for one in dict.fromkeys([*found, DEFAULT, "plan-exec"]) if one != name][:_MOST_ALTERNATIVES]


def _why(read: Reading) -> str:
    words = {"research": "something to find out", "plan": "a plan", "exec": "a change", "review": "a look at it"}
    first: dict[str, str] = {}
    for cue in read.cues:
        if cue.kind in read.kinds:
            first.setdefault(cue.kind, cue.said)
    if not first:
        return "nothing in it says what kind of work it is, so all three are proposed"
    return ", ".join(f"“{said}” asks for {words[kind]}" for kind, said in first.items())
