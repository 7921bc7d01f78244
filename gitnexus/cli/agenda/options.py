"""Options that several commands of `git nexus agenda` take."""

import click

AT_OPTION = click.option("--at", metavar="REV", default="", help="The documents of this commit, not of the checkout.")
