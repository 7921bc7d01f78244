"""Arguments that several commands of `git nexus pack` take."""

import click

HASH_ARGUMENT = click.argument("name", metavar="HASH")
