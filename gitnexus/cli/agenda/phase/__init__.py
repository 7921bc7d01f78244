"""`git nexus agenda phase`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

phase = LazyGroup(
    (
        (
            "Commands",
            "add",
            "gitnexus.cli.agenda.phase.add:add_phase",
            "Plan a phase: docs/phases/NAME.md with empty sections, and a row in AGENDA.md.",
        ),
        (
            "Commands",
            "done",
            "gitnexus.cli.agenda.phase.done:finish_phase",
            "Finish a phase whose steps are ticked, and tick it in AGENDA.md.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.agenda.phase.list:list_phases",
            "List the phases, in the order of the agenda.",
        ),
        (
            "Commands",
            "show",
            "gitnexus.cli.agenda.phase.show:show_phase",
            "Show the state of a phase: its steps, and what it links.",
        ),
        ("Commands", "start", "gitnexus.cli.agenda.phase.start:start_phase", "Make a phase the active one."),
    ),
    name="phase",
    help="The phases of the agenda, a file each in docs/phases/. One is active at a time.",
)
