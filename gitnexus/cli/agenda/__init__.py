"""`git nexus agenda`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

agenda = LazyGroup(
    (
        (
            "Commands",
            "check",
            "gitnexus.cli.agenda.check:check_agenda",
            "List everything that is inconsistent, with file and line.",
        ),
        (
            "Commands",
            "init",
            "gitnexus.cli.agenda.init:write_first_agenda",
            "Write a first AGENDA.md with the phases that exist.",
        ),
        (
            "Commands",
            "patch",
            "gitnexus.cli.agenda.patch:show_agenda_patch",
            "Show what a run changes in the agenda: a link to it, ticked steps, a completed phase.",
        ),
        (
            "Commands",
            "phase",
            "gitnexus.cli.agenda.phase:phase",
            "The phases of the agenda, a file each in docs/phases/.",
        ),
        (
            "Commands",
            "show",
            "gitnexus.cli.agenda.show:show_agenda",
            "Show the agenda and the state of its phases, or one part of a document.",
        ),
        (
            "Commands",
            "tick",
            "gitnexus.cli.agenda.tick:tick_step",
            "Tick a step of a phase: core_loop#write, or its id alone in the active phase.",
        ),
    ),
    name="agenda",
    help="What the project is about: AGENDA.md, its phases in docs/phases/, their plans, research and runs.",
)
