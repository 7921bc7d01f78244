"""What a router knows in a project, and what a plan costs in its repository."""

from gitnexus.app.policy import policy_here
from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid
from gitnexus.runs.store import runs_in
from gitnexus.state import State
from gitnexus.state.settings import FILE, loosening, section
from gitnexus.workflow.budget import Plan, plan_of
from gitnexus.workflow.commands import commands_in
from gitnexus.workflow.definition import LARGEST
from gitnexus.workflow.packing import Limits, Packed, limits_of, packed
from gitnexus.workflow.proposal import Proposal, Surroundings
from gitnexus.workflow.routing import Known, routed
from gitnexus.workflow.settings import SECTION, WorkflowSettings, settings_of

_RECENT = 5
AGENDA = "AGENDA.md"


def workflow_settings(state: State) -> WorkflowSettings:
    """Return the settings of workflows; a project's count only if signed. Raises: Invalid."""
    return settings_of(section(state.required(), SECTION, state.trusts))


def known_in(state: State) -> Known:
    """Return what a router chooses from here. Raises: Invalid."""
    settings = workflow_settings(state)
    commands, _ = commands_in(state.snapshot)
    if not settings.router.url:
        return Known(commands, settings)
    # Only a model reads what is around; the rules do without, and then nobody pays for looking.
    from gitnexus.redaction import mask
    from gitnexus.redaction.stored import known_values

    values = known_values()
    return Known(commands, settings, _around(state), lambda text: mask(text, values))


def proposed(state: State, prompt: str, *, model: bool = True) -> Proposal:
    """Return the workflow that a prompt would become; nothing runs. Raises: Invalid, NotFound."""
    return routed(prompt, known_in(state), model=model)


def unsigned(state: State) -> list[str]:
    """Return the keys of the project's settings about workflows that wait for a signature."""
    raw = state.snapshot.read(FILE)
    if raw is None or state.trusts(state.snapshot, raw):
        return []
    return [key for key in loosening(raw) if key.split(".")[0] == SECTION]


def plan_in(raw: bytes, where: str) -> Plan:
    """Return the plan in a file. Raises: Invalid."""
    if len(raw) > LARGEST:
        raise Invalid(f"{where} is larger than {LARGEST // 1024} KiB")
    try:
        return plan_of(parse(raw), where)
    except Invalid as exc:
        raise Invalid(exc.message if exc.message.startswith(where) else f"{where} is {exc.message}") from exc


def batches_of(state: State, plan: Plan, revision: str, **given: int | None) -> tuple[Packed, Limits]:
    """Return a plan in batches, counted at a commit, and the limits: those given, else the settings'.

    Raises: Invalid, NotFound.
    """
    settings = workflow_settings(state)
    said = {name: value for name, value in given.items() if value is not None}
    limits = limits_of(settings.budgets)._replace(**said)
    return packed(plan, sizes_at(state, revision), settings.weights, limits), limits


def sizes_at(state: State, revision: str) -> dict[str, int]:
    """Return the files of a commit with their bytes. Raises: Invalid, NotFound."""
    from gitnexus.git.private import private  # git's private folder: only who counts files pays
    from gitnexus.git.revisions import commit_of

    with private(state.repo) as git:
        listed = git.must("ls-tree", "-r", "-l", "-z", commit_of(state.repo, git, revision))
    found = {}
    for row in listed.split(b"\0")[:-1]:
        head, _, path = row.partition(b"\t")
        size = head.split()[3]
        found[path.decode("utf-8", "surrogateescape")] = 0 if size == b"-" else int(size)
    return found


def _around(state: State) -> Surroundings:
    newest = sorted(runs_in(state.snapshot), key=lambda run: (run.created, run.id), reverse=True)[:_RECENT]
    there = state.repo.worktree is not None and (state.repo.worktree / AGENDA).is_file()
    return Surroundings(
        mode=policy_here(state).law.mode,
        agenda=AGENDA if there else "",
        recent=tuple(run.title for run in newest),
    )
