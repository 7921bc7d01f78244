"""A specialist that is a typed model call: packs in, a checked record out, through BAML or pydantic-ai as is set."""

from collections.abc import Mapping
from dataclasses import replace

from gitnexus.base.canonical import document
from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.record import Record
from gitnexus.git import GitFailed
from gitnexus.packs import Budget, built, rendered
from gitnexus.prompts.call import Prompter, Reply
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import ExecResult, Plan, PlanChanges, PlanStep, ResearchBundle
from gitnexus.workflow.briefing import by_skill, material
from gitnexus.workflow.embedded.research import researched
from gitnexus.workflow.specialist import FUNCTIONS, Order, Returned, Usage

NAME = "model"
_MOST_PATHS = 400
_DEFAULT_KIB = 64
_AGENDA_KIB = 16
_REVIEW = "Review the work below. Each remark is a claim that cites its place; what must be mended is a constraint."


class Typed:
    """All three specialists, each a prompt function. The settings of `prompts` say where the model is."""

    name = NAME

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter

    def work(self, order: Order) -> Returned:
        """Read what is to be asked about, and ask. Raises: NexusError."""
        return self.asked(order, given_to(order))

    def asked(self, order: Order, given: Mapping[str, str]) -> Returned:
        """Ask, and return what came back, checked; what does not fit is sent back as often as the node allows.

        Raises: NexusError.
        """
        if order.node.type not in FUNCTIONS:
            raise Failed(f"a node of type {order.node.type} is run as it stands, no model is asked")
        function = function_named(FUNCTIONS[order.node.type])
        prompter = _fitted(self._prompter, order, function.name)
        reply = prompter.call(function.name, given, function.output, feedback=order.feedback)
        assert isinstance(reply.output, ResearchBundle | Plan | PlanChanges | ExecResult)  # noqa: S101 - these four
        return Returned(output=reply.output, usage=_usage(reply), wrong=reply.wrong)


def given_to(order: Order) -> dict[str, str]:
    """Return the inputs of the function that a node's form belongs to."""
    match order.node.type:
        case "research":
            question = order.blocked.question if order.blocked else _wanted(order)
            return {"question": question, "context": _joined(order, reading(order))}
        case "review":
            return {"question": f"{_REVIEW}\n{_wanted(order)}", "context": _joined(order, order.pack)}
        case "plan":
            return {
                "goal": _wanted(order),
                "agenda": agenda(order),
                "research": _said(order, research=True),
                "repo": "\n\n".join(filter(None, [_paths(order), reading(order), _said(order, research=False)])),
            }
        case "plan_patch":
            return _change(order)
        case _:
            plan = order.plan or Plan(goal=order.goal, steps=(PlanStep(id="S1", title=order.prompt or order.goal),))
            skill = by_skill(order.skill) if order.skill else ""
            pack = "\n\n".join(filter(None, [skill, _joined(replace(order, plan=None), reading(order))]))
            return {"plan": _json(plan), "step_id": order.step or plan.steps[0].id, "context_pack": pack}


def _wanted(order: Order) -> str:
    words = order.prompt or order.goal
    return f"{words}\n\n{by_skill(order.skill)}" if order.skill else words


def reading(order: Order) -> str:
    """Return what a model is given to read: the node's pack; where nothing was named, what a search by rule cites."""
    if order.pack or order.view is None:
        return order.pack
    bundle = researched(order)
    if not isinstance(bundle, ResearchBundle):
        return ""
    refs = dict.fromkeys(ref for claim in bundle.claims for ref in claim.citations)
    return _packed(order, tuple(refs), order.node.budget.ctx_kib or _DEFAULT_KIB)


def agenda(order: Order) -> str:
    """Return the agenda, the active phase and the task that a run is for, as a pack."""
    if order.view is None:
        return ""
    from gitnexus.docgraph import Shelf, load

    graph = load(Shelf(order.view.library.base, order.view.library.state))
    docs = [doc.path for doc in (graph.agenda, *graph.active) if doc is not None and doc.sound]
    task = [f"task:{order.task}"] if order.task and ":" not in order.task else []
    return _packed(order, (*(f"doc:{path}" for path in docs), *task), _AGENDA_KIB) if docs or task else ""


def _packed(order: Order, refs: tuple[str, ...], kib: int) -> str:
    if order.view is None or not refs:
        return ""
    try:
        return rendered(built(order.view.library, refs, Budget(kib=kib)))
    except GitFailed:
        raise
    except NexusError:
        return ""


def _change(order: Order) -> dict[str, str]:
    plan = order.plan or next((one for one in order.inputs.values() if isinstance(one, Plan)), None)
    rows = [f"{one.question} {one.answer}" for one in order.answers]
    bundles = [one for one in order.inputs.values() if isinstance(one, ResearchBundle)]
    told = "\n\n".join(filter(None, [_wanted(order), *rows, *map(_json, bundles), order.pack]))
    stands = [_json(order.blocked)] if order.blocked else []
    stands += [document(order.split.plain()).decode()] if order.split else []
    return {
        "plan": _json(plan) if plan is not None else '{"goal": "", "steps": []}; add steps after the step ""',
        "new_constraints": told,
        "blocker": "\n".join(stands),
    }


def _joined(order: Order, pack: str) -> str:
    blocks = [f"{name}:\n{text}" for name, text in material(replace(order, pack=""))]
    return "\n\n".join(filter(None, [*blocks, pack]))


def _said(order: Order, *, research: bool) -> str:
    rows = [(id_, one) for id_, one in order.inputs.items() if isinstance(one, ResearchBundle) == research]
    texts = [f"{id_}:\n{_json(one)}" for id_, one in rows]
    texts += [f"{one.question}\n{one.answer}" for one in order.answers] if not research else []
    return "\n\n".join(texts)


def _paths(order: Order) -> str:
    if order.view is None:
        return ""
    paths = order.view.library.base.paths()
    more = f"\nand {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return "Files:\n" + "\n".join(paths[:_MOST_PATHS]) + more


def _fitted(prompter: Prompter, order: Order, name: str) -> Prompter:
    """Return the prompter with what a node says about itself: its model, its retries, and the time that is left."""
    # Who asks again because of more than the form does the counting from there on.
    settings = prompter.settings.changed(retries=0 if order.feedback else order.node.budget.retries)
    endpoint = settings.endpoint_of(name)
    if order.node.model:
        endpoint = endpoint.changed(model=order.node.model)
    left = order.seconds_left()
    if left is not None:
        endpoint = endpoint.changed(seconds=max(1, min(endpoint.seconds, int(left))))
    functions: Mapping[str, object] = {**settings.functions, name: endpoint}
    return replace(prompter, settings=settings.changed(functions=functions))


def _usage(reply: Reply[Record]) -> Usage:
    cost = round((reply.cost_usd or 0) * 1_000_000)
    return Usage(input=reply.tokens_in or 0, output=reply.tokens_out or 0, cost=cost)


def _json(form: Record) -> str:
    return document(form.plain()).decode()
