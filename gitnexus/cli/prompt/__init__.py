"""`git nexus prompt`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

prompt = LazyGroup(
    (
        (
            "Commands",
            "call",
            "gitnexus.cli.prompt.call:call_prompt",
            "Call one function, and print its checked answer.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.prompt.list:list_prompts",
            "List the functions, where their prompts come from, and which model each would ask.",
        ),
        (
            "Commands",
            "show",
            "gitnexus.cli.prompt.show:show_prompt",
            "Show the prompt of a function, and the JSON Schemas of its input and output.",
        ),
    ),
    name="prompt",
    help="Typed questions to a model: named inputs, an answer of a fixed form, any OpenAI-compatible server.\n\n"
    "The prompts are BAML files; a project's own are in .nexus/baml/ and are used once they are signed.",
)
