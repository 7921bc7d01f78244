"""Routes a prompt to a workflow from the project's settings, and computes the batches of a plan."""

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.prompts.in_project import read_prompt_settings
from gitnexus.runs.store import read_all_runs
from gitnexus.runs.workflow.agents import choose_agents
from gitnexus.state import State
from gitnexus.state.settings import FILE, loosening_keys_in, settings_section
from gitnexus.workflow.budget import CountedPlan, parse_counted_plan
from gitnexus.workflow.commands import FOLDER, read_custom_macros
from gitnexus.workflow.definition import LARGEST
from gitnexus.workflow.packing import BatchLimits, PackedPlan, batch_limits, pack_plan
from gitnexus.workflow.proposal import RoutingContext, WorkflowProposal
from gitnexus.workflow.routing import RoutingInputs, propose_workflow
from gitnexus.workflow.settings import SECTION, WorkflowSettings, parse_workflow_settings

_RECENT = 5
AGENDA = "AGENDA.md"


def workflow_settings(state: State) -> WorkflowSettings:
    """Return the workflow settings; a project's count only if signed. Raises: Invalid."""
    return parse_workflow_settings(settings_section(state.required(), SECTION, state.trusts))


def known_for_routing(state: State) -> RoutingInputs:
    """Return the inputs of the router. Raises: Invalid."""
    settings = workflow_settings(state)
    commands, files = read_custom_macros(state.snapshot)
    wrong = {path.removeprefix(f"{FOLDER}/").removesuffix(".md"): why for path, why in files.items()}
    model = read_prompt_settings(state).router_endpoint()
    if not settings.router.url and model is None:
        return RoutingInputs(commands, settings, wrong=wrong)
    # Only a model uses the context; rules do not, so it is not collected for them.
    from gitnexus.redaction import mask
    from gitnexus.redaction.stored import known_secret_values

    values = known_secret_values()
    around = _routing_surroundings(state)
    return RoutingInputs(commands, settings, around, wrong, model, lambda text: mask(text, values))


def route_prompt(state: State, prompt: str, *, model: bool = True) -> WorkflowProposal:
    """Return the workflow proposed for a prompt; runs nothing. Raises: Invalid, NotFound."""
    known = known_for_routing(state)
    found = propose_workflow(prompt, known, model=model)
    definition, agents = choose_agents(state, found.definition, known.settings)
    return found.changed(definition=definition, agents=agents) if agents else found


def unsigned_workflow_keys(state: State) -> list[str]:
    """Return the project's workflow settings that wait for a signature."""
    raw = state.snapshot.read(FILE)
    if raw is None or state.trusts(state.snapshot, raw):
        return []
    return [key for key in loosening_keys_in(raw) if key.split(".")[0] == SECTION]


def parse_plan(raw: bytes, where: str) -> CountedPlan:
    """Parse a plan file. Raises: Invalid."""
    if len(raw) > LARGEST:
        raise Invalid(f"{where} is larger than {LARGEST // 1024} KiB")
    try:
        return parse_counted_plan(parse_json(raw), where)
    except Invalid as exc:
        raise Invalid(exc.message if exc.message.startswith(where) else f"{where} is {exc.message}") from exc


def compute_batches(
    state: State, plan: CountedPlan, revision: str, **given: int | None
) -> tuple[PackedPlan, BatchLimits]:
    """Return a plan in batches, sized at a commit, and the limits: those given, else from the settings.

    Raises: Invalid, NotFound.
    """
    settings = workflow_settings(state)
    said = {name: value for name, value in given.items() if value is not None}
    limits = batch_limits(settings.budgets)._replace(**said)
    return pack_plan(plan, file_sizes_at(state, revision), settings.weights, limits), limits


def file_sizes_at(state: State, revision: str) -> dict[str, int]:
    """Return the files of a commit with their sizes. Raises: Invalid, NotFound."""
    from gitnexus.git.private import private_git  # private git: only needed to measure files
    from gitnexus.git.revisions import resolve_commit

    with private_git(state.repo) as git:
        listed = git.must("ls-tree", "-r", "-l", "-z", resolve_commit(state.repo, git, revision))
    found = {}
    for row in listed.split(b"\0")[:-1]:
        head, _, path = row.partition(b"\t")
        size = head.split()[3]
        found[path.decode("utf-8", "surrogateescape")] = 0 if size == b"-" else int(size)
    return found


def _routing_surroundings(state: State) -> RoutingContext:
    newest = sorted(read_all_runs(state.snapshot), key=lambda run: (run.created, run.id), reverse=True)[:_RECENT]
    there = state.repo.worktree is not None and (state.repo.worktree / AGENDA).is_file()
    return RoutingContext(
        mode=read_policy_in_force(state).compiled.mode,
        agenda=AGENDA if there else "",
        recent=tuple(run.title for run in newest),
    )
