"""Options that several commands about the graph share."""

SCOPE_HELP = "all projects that may be read, current, or the name of one."
