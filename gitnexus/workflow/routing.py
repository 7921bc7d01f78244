"""Proposes a workflow for a prompt: from explicit wording first, then a small model if configured, then the rules."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.base.spelling import suggest_word
from gitnexus.workflow.commands import FOLDER, CustomMacro, workflow_from_macro
from gitnexus.workflow.definition import LONGEST_PROMPT, WorkflowDefinition
from gitnexus.workflow.delegation import find_delegation, refuse_misspelt_agents
from gitnexus.workflow.macros import DEFAULT, MACROS, Macro, expand_macro, macro_for_steps
from gitnexus.workflow.proposal import SURE, RoutingContext, WorkflowAlternative, WorkflowProposal
from gitnexus.workflow.rules import RequestReading, parse_request, prose_of_prompt
from gitnexus.workflow.settings import WorkflowSettings

if TYPE_CHECKING:
    from gitnexus.prompts.settings import ModelEndpoint
    from gitnexus.workflow.smallmodel import RouterAnswer

# `/plan the migration`: a macro by its name, of ours or of the project's.
_NAMED = re.compile(r"\s*/([a-z][a-z0-9-]{0,39})(?:\s+|$)")
_MOST_ALTERNATIVES = 3


class RoutingInputs(NamedTuple):
    """The inputs of a router: the project's macros, settings, and context."""

    commands: Mapping[str, CustomMacro]
    settings: WorkflowSettings
    around: RoutingContext = RoutingContext()
    # Why a macro of the project's is none, by its name.
    wrong: Mapping[str, str] = MappingProxyType({})
    # The model that chooses, if the settings name one of the models for it.
    model: "ModelEndpoint | None" = None
    # Takes secrets out of what leaves; None: those that look like one.
    hide: Callable[[str], str] | None = None

    def definition(self, name: str, prompt: str) -> WorkflowDefinition:
        """Return the workflow of a name for a prompt. Raises: NotFound, Invalid."""
        backed, budgets = self.settings.specialist_adapters(), self.settings.budgets
        if name in MACROS:
            return expand_macro(MACROS[name], prompt, backed, budgets)
        if name in self.commands:
            return workflow_from_macro(self.commands[name], prompt, backed, budgets)
        if name in self.wrong:
            hint = "correct it; git nexus workflow check says whether it is right"
            raise Invalid(f".nexus/{FOLDER}/{name}.md is not a workflow: {self.wrong[name]}", hint=hint)
        hint = suggest_word(name, [*MACROS, *self.commands], "git nexus workflow list shows them")
        raise NotFound(f"there is no workflow {name[:60]!r}", hint=hint)

    def offered(self) -> dict[str, str]:
        """Return the names to choose from, with their descriptions."""
        ours = {name: macro.about for name, macro in MACROS.items() if name != "unblock"}
        return {**ours, **{name: command.about for name, command in self.commands.items()}}


def propose_workflow(prompt: str, known: RoutingInputs, *, model: bool = True) -> WorkflowProposal:
    """Return the workflow that a prompt asks for. Without `model` only the rules decide. Raises: Invalid, NotFound."""
    if not prompt.strip():
        raise Invalid("there is nothing to run: give a prompt or a command", hint='git nexus route "fix the parser"')
    if len(prompt) > LONGEST_PROMPT:
        raise Invalid(
            f"the prompt is longer than {LONGEST_PROMPT} characters", hint="put it into a file and name the file"
        )
    if (found := _route_by_name(prompt, known)) or (found := _route_by_delegation(prompt, known)):
        return found
    router = known.settings.router if known.settings.router.url else known.model
    if not model or router is None:
        return _route_by_rules(prompt, known)
    from gitnexus.redaction import mask
    from gitnexus.workflow.smallmodel import ask_small_model  # urllib: only who has a model pays

    try:
        said = ask_small_model(router, prompt, known.around, known.offered(), known.hide or mask)
    except Failed as exc:
        return _route_by_rules(prompt, known).changed(fallback=exc.message)
    return _route_by_model(prompt, said, known)


def _route_by_name(prompt: str, known: RoutingInputs) -> WorkflowProposal | None:
    named = _NAMED.match(prompt)
    if named is None:
        return None
    rest = prompt[named.end() :].strip()
    definition = known.definition(named[1], rest)
    return WorkflowProposal(
        definition=definition, source="macro", confidence=100, why=f"you named the workflow {named[1]}"
    )


def _route_by_delegation(prompt: str, known: RoutingInputs) -> WorkflowProposal | None:
    prose = prose_of_prompt(prompt)
    refuse_misspelt_agents(prose)
    found = find_delegation(prose)
    if found is None:
        return None
    macro = Macro("-".join(part.type for part in found.parts)[:100], "as you said", found.parts)
    definition = expand_macro(macro, prompt, known.settings.specialist_adapters(), known.settings.budgets)
    said = ", ".join(f"“{one}”" for one in found.said[:4])
    rules = _route_by_rules(prompt, known)
    beside = [rules.definition.name, *_other_macros(rules.definition.name, parse_request(prose_of_prompt(prompt)))]
    names = [] if found.sure else [name for name in beside if name != macro.name][:_MOST_ALTERNATIVES]
    return WorkflowProposal(
        definition=definition,
        source="delegation",
        confidence=95 if found.sure else 65,
        why=f"you said who does what: {said}" + ("" if found.sure else ", but not of each part what it is"),
        alternatives=tuple(WorkflowAlternative(name=name, about=MACROS[name].about) for name in names),
    )


def _route_by_model(prompt: str, said: "RouterAnswer", known: RoutingInputs) -> WorkflowProposal:
    others = [name for name in dict.fromkeys(said.alternatives) if name != said.workflow]
    if said.confidence < SURE and len(others) < 2:
        rules = [one.name for one in _route_by_rules(prompt, known).alternatives]
        others += [name for name in rules if name not in (said.workflow, *others)]
    about = known.offered()
    return WorkflowProposal(
        definition=known.definition(said.workflow, prompt),
        source="model",
        confidence=said.confidence,
        why=said.why,
        alternatives=tuple(WorkflowAlternative(name=name, about=about[name]) for name in others[:_MOST_ALTERNATIVES]),
    )


def _route_by_rules(prompt: str, known: RoutingInputs) -> WorkflowProposal:
    read = parse_request(prose_of_prompt(prompt))
    # A review that comes first, or is the only node, only reads, as research does.
    after = "exec" in read.kinds and read.kinds[-1] == "review"
    kinds = frozenset("research" if kind == "review" and not after else kind for kind in read.kinds)
    macro = MACROS["exec-review"] if kinds == {"exec", "review"} else macro_for_steps(kinds)
    confidence = _confidence_in_reading(read)
    names = _other_macros(macro.name, read) if confidence < SURE else []
    return WorkflowProposal(
        definition=known.definition(macro.name, prompt),
        source="rules",
        confidence=confidence,
        why=_explain_reading(read),
        alternatives=tuple(WorkflowAlternative(name=name, about=MACROS[name].about) for name in names),
    )


def _confidence_in_reading(read: RequestReading) -> int:
    cues = [cue for cue in read.cues if cue.kind in read.kinds]
    if not cues:
        return 30
    if not all(cue.sure for cue in cues):
        return 60 if any(cue.sure for cue in cues) else 50
    return 65 if read.perhaps else 90


def _other_macros(name: str, read: RequestReading) -> list[str]:
    """Return the alternatives: with possible further work, and without work that only a keyword suggests."""
    kinds = frozenset(read.kinds)
    sure = frozenset(cue.kind for cue in read.cues if cue.sure) & kinds
    wanted = [kinds | read.perhaps, sure, kinds | {"plan"}, kinds | {"exec"}, kinds | {"research"}, frozenset({"exec"})]
    found = [macro_for_steps(frozenset(one)).name for one in wanted if one]
    return [one for one in dict.fromkeys([*found, DEFAULT, "plan-exec"]) if one != name][:_MOST_ALTERNATIVES]


def _explain_reading(read: RequestReading) -> str:
    words = {"research": "something to find out", "plan": "a plan", "exec": "a change", "review": "a look at it"}
    first: dict[str, str] = {}
    for cue in read.cues:
        if cue.kind in read.kinds:
            first.setdefault(cue.kind, cue.said)
    if not first:
        return "nothing in it says what kind of work it is, so all three are proposed"
    return ", ".join(f"“{said}” asks for {words[kind]}" for kind, said in first.items())
