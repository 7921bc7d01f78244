"""`git nexus completion`: print the completion script for a shell."""

import click

from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.completion import completion_script
from gitnexus.ui.output import print_answer


@click.command("completion", cls=NexusCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def print_completion_script(shell: str) -> None:
    """Print the completion script for a shell.

    A package installs it where the shell looks by itself. By hand:

    \b
      bash  eval "$(git nexus completion bash)"           in ~/.bashrc, after git's own completion
      zsh   git nexus completion zsh > DIR/_git-nexus     with DIR in $fpath
      fish  git nexus completion fish > ~/.config/fish/completions/git-nexus.fish
    """
    text = completion_script(shell)
    print_answer({"shell": shell, "script": text}, text.rstrip("\n"))
