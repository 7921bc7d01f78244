"""Options that several commands of `git nexus policy` take."""

import click

MODES = click.Choice(["default", "acceptEdits", "autopilot", "bypass"])
USER_OPTION = click.option(
    "--user", "user", is_flag=True, help="Your own policy, for all projects, instead of the project's."
)
