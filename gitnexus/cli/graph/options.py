"""What several commands about the graph say of their options."""

SCOPE_HELP = "all projects that may be read, current, or the name of one."
