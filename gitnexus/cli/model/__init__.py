"""`git nexus model`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

model = LazyGroup(
    (
        ("Commands", "add", "gitnexus.cli.model.add:add_model_command", "Set up a model, and make one small call."),
        ("Commands", "list", "gitnexus.cli.model.list:list_models", "List the models, and which roles use each."),
        (
            "Commands",
            "test",
            "gitnexus.cli.model.test:test_model",
            "Make one small call to a model, and show what it cost.",
        ),
        ("Commands", "use", "gitnexus.cli.model.use:use_model_command", "Make roles ask a model."),
        ("Commands", "remove", "gitnexus.cli.model.remove:remove_model_command", "Forget a model."),
    ),
    name="model",
    help="Language models for the work of runs: set one up, test it, say which roles use it.\n\n"
    "Models are in your own settings, for all of your projects. A key is never written there, only where to find it.",
)
