"""A specialist that calls a language model: packs in, a validated record out, through BAML or pydantic-ai."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from gitnexus.base.canonical import json_document
from gitnexus.base.errors import Failed, NexusError
from gitnexus.git import GitFailed
from gitnexus.packs import PackBudget, pack_references, render_pack
from gitnexus.prompts.call import Prompter, Reply
from gitnexus.prompts.chat import PromptSession
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import ExecResult, Form, Plan, PlanChanges, PlanStep, ResearchBundle
from gitnexus.prompts.settings import ModelEndpoint
from gitnexus.workflow.briefing import named_material, render_skill_note
from gitnexus.workflow.embedded.research import research_by_rule
from gitnexus.workflow.specialist import (
    FUNCTIONS,
    CallUsage,
    SpecialistGaveUp,
    UnusableAnswer,
    WorkOrder,
    WorkResult,
)

NAME = "model"
_MOST_PATHS = 400
_DEFAULT_KIB = 64
_AGENDA_KIB = 16
_REVIEW = "Review the work below. Each remark is a claim that cites its place; what must be mended is a constraint."


class ModelSpecialist:
    """All three specialists, each a prompt function. The `prompts` settings name the model.

    `session_for` makes what accompanies a call: tools to look with, and who hears what is written.
    """

    name = NAME

    def __init__(
        self, prompter: Prompter, session_for: Callable[[WorkOrder], PromptSession] = lambda order: PromptSession()
    ) -> None:
        self._prompter = prompter
        self._session_for = session_for

    def work(self, order: WorkOrder) -> WorkResult:
        """Read the inputs, and ask the model. Raises: NexusError."""
        return self.asked(order, inputs_for_function(order))

    def asked(self, order: WorkOrder, given: Mapping[str, str]) -> WorkResult:
        """Ask the model and return the validated answer; an invalid one is sent back as often as the node allows.

        Raises: NexusError.
        """
        if order.node.type not in FUNCTIONS:
            raise Failed(f"a node of type {order.node.type} is run as it is, without a model")
        function = function_named(FUNCTIONS[order.node.type])
        prompter = _with_node_settings(self._prompter, order, function.name)
        session = self._session_for(order)
        try:
            reply = prompter.call(function.name, given, function.output, feedback=order.feedback, session=session)
        except Failed as exc:
            wrong = tuple(map(str, exc.context.get("wrong", ())))
            spent = _usage_of_failure(exc, prompter.settings.endpoint_of(function.name))
            if not (order.feedback and wrong):
                raise SpecialistGaveUp(exc.message, spent, wrong) from exc
            # A model that got a failed check as input is called again by the engine, which counts the attempts.
            refused = UnusableAnswer(wrong[-1])
            refused.usage = spent
            raise refused from exc
        assert isinstance(reply.output, ResearchBundle | Plan | PlanChanges | ExecResult)  # noqa: S101 - these four
        sources = tuple(session.tools.sources) if session.tools else ()
        return WorkResult(output=reply.output, usage=_usage_of_reply(reply), wrong=reply.wrong, sources=sources)


def inputs_for_function(order: WorkOrder) -> dict[str, str]:
    """Return the inputs of the prompt function for a node's type."""
    match order.node.type:
        case "research":
            question = order.blocked.question if order.blocked else _goal_with_skill(order)
            return {"question": question, "context": _join_material(order, pack_to_read(order))}
        case "review":
            return {"question": f"{_REVIEW}\n{_goal_with_skill(order)}", "context": _join_material(order, order.pack)}
        case "plan":
            return {
                "goal": _goal_with_skill(order),
                "agenda": agenda_pack(order),
                "research": _render_inputs(order, research=True),
                "repo": "\n\n".join(
                    filter(None, [_list_paths(order), pack_to_read(order), _render_inputs(order, research=False)])
                ),
            }
        case "plan_patch":
            return _inputs_for_replanning(order)
        case _:
            plan = order.plan or Plan(goal=order.goal, steps=(PlanStep(id="S1", title=order.prompt or order.goal),))
            skill = render_skill_note(order.skill) if order.skill else ""
            wrong = f"What you proposed before did not hold:\n{order.feedback}" if order.feedback else ""
            pack = "\n\n".join(
                filter(None, [skill, wrong, _join_material(replace(order, plan=None), pack_to_read(order))])
            )
            return {"plan": _form_as_json(plan), "step_id": order.step or plan.steps[0].id, "context_pack": pack}


def _goal_with_skill(order: WorkOrder) -> str:
    words = order.prompt or order.goal
    return f"{words}\n\n{render_skill_note(order.skill)}" if order.skill else words


def pack_to_read(order: WorkOrder) -> str:
    """Return the pack for a model: the node's pack, or what a search by rule cites if nothing was named."""
    if order.pack or order.view is None:
        return order.pack
    bundle = research_by_rule(order)
    if not isinstance(bundle, ResearchBundle):
        return ""
    refs = dict.fromkeys(ref for claim in bundle.claims for ref in claim.citations)
    return _render_pack(order, tuple(refs), order.node.budget.ctx_kib or _DEFAULT_KIB)


def agenda_pack(order: WorkOrder) -> str:
    """Return the agenda, the active phase and the run's task as a pack."""
    if order.view is None:
        return ""
    from gitnexus.docgraph import DocumentFiles, read_doc_graph

    graph = read_doc_graph(DocumentFiles(order.view.library.base, order.view.library.state))
    docs = [doc.path for doc in (graph.agenda, *graph.active) if doc is not None and doc.sound]
    task = [f"task:{order.task}"] if order.task and ":" not in order.task else []
    return _render_pack(order, (*(f"doc:{path}" for path in docs), *task), _AGENDA_KIB) if docs or task else ""


def _render_pack(order: WorkOrder, refs: tuple[str, ...], kib: int) -> str:
    if order.view is None or not refs:
        return ""
    try:
        return render_pack(pack_references(order.view.library, refs, PackBudget(kib=kib)))
    except GitFailed:
        raise
    except NexusError:
        return ""


def _inputs_for_replanning(order: WorkOrder) -> dict[str, str]:
    plan = order.plan or next((one for one in order.inputs.values() if isinstance(one, Plan)), None)
    rows = [f"{one.question} {one.answer}" for one in order.answers]
    bundles = [one for one in order.inputs.values() if isinstance(one, ResearchBundle)]
    done = f"Done already, and not to be changed: {', '.join(order.done)}" if order.done else ""
    told = "\n\n".join(filter(None, [_goal_with_skill(order), done, *rows, *map(_form_as_json, bundles), order.pack]))
    stands = [_form_as_json(order.blocked)] if order.blocked else []
    stands += [json_document(order.split.plain()).decode()] if order.split else []
    return {
        "plan": _form_as_json(plan) if plan is not None else '{"goal": "", "steps": []}; add steps after the step ""',
        "new_constraints": told,
        "blocker": "\n".join(stands),
    }


def _join_material(order: WorkOrder, pack: str) -> str:
    blocks = [f"{name}:\n{text}" for name, text in named_material(replace(order, pack=""))]
    return "\n\n".join(filter(None, [*blocks, pack]))


def _render_inputs(order: WorkOrder, *, research: bool) -> str:
    rows = [(id_, one) for id_, one in order.inputs.items() if isinstance(one, ResearchBundle) == research]
    texts = [f"{id_}:\n{_form_as_json(one)}" for id_, one in rows]
    texts += [f"{one.question}\n{one.answer}" for one in order.answers] if not research else []
    return "\n\n".join(texts)


def _list_paths(order: WorkOrder) -> str:
    if order.view is None:
        return ""
    paths = order.view.library.base.paths()
    more = f"\nand {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return "Files:\n" + "\n".join(paths[:_MOST_PATHS]) + more


def _with_node_settings(prompter: Prompter, order: WorkOrder, name: str) -> Prompter:
    """Return the prompter with the node's own model, retries and remaining time."""
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


def _usage_of_reply(reply: Reply[Form]) -> CallUsage:
    cost = round((reply.cost_usd or 0) * 1_000_000)
    return CallUsage(input=reply.tokens_in or 0, output=reply.tokens_out or 0, cost=cost)


def _usage_of_failure(failure: Failed, endpoint: ModelEndpoint) -> CallUsage:
    """Return what a call took that ended without an answer."""
    tokens = int(failure.context.get("tokensIn") or 0), int(failure.context.get("tokensOut") or 0)
    return CallUsage(input=tokens[0], output=tokens[1], cost=round((endpoint.cost(*tokens) or 0) * 1_000_000))


def _form_as_json(form: Form) -> str:
    return json_document(form.plain()).decode()
