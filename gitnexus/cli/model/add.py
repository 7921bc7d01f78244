"""`git nexus model add`: set up a model, and make one small call."""

import shlex
from typing import Any, get_args

import click

from gitnexus.base.errors import Invalid
from gitnexus.cli.model.in_force import ModelsInForce, with_models
from gitnexus.cli.model.output import call_as_json, format_call, format_key_source
from gitnexus.prompts.key_sources import keyring_store_command
from gitnexus.prompts.library_chat import install_command
from gitnexus.prompts.models import PROVIDERS, add_model, call_model, choose_interface, free_roles, use_model
from gitnexus.prompts.settings import ROLES, ROUTER, Interface, ModelEndpoint, check_endpoint
from gitnexus.state.settings import write_user_settings
from gitnexus.ui.approval_prompt import ask_line, is_person_at_terminal
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note

# On one's own machine; what asks for a key all the same gets it by an option.
_WITHOUT_KEY = ("ollama", "llama.cpp")


@click.command("add", cls=NexusCommand)
@click.argument("name", required=False, default="")
@click.option("--provider", type=click.Choice(list(PROVIDERS)), help="Who serves it; other is any compatible server.")
@click.option("--url", default="", metavar="URL", help="Where it is served, up to /v1; by default the provider's own.")
@click.option(
    "--interface",
    type=click.Choice(get_args(Interface)),
    help="What it speaks; by default the provider's own interface if its library is installed, else chat completions.",
)
@click.option("--model", "model", default="", metavar="MODEL", help="The model, as that server calls it.")
@click.option("--key-env", default="", metavar="VARIABLE", help="The key is in this variable of the environment.")
@click.option("--key-command", default="", metavar="COMMAND", help="The key is what this command prints.")
@click.option("--keyring", default="", metavar="ACCOUNT", help="The key is in the system's keyring, service git-nexus.")
@click.option("--usd-in", type=click.FloatRange(0), metavar="USD", help="What a million tokens that it reads cost.")
@click.option("--usd-out", type=click.FloatRange(0), metavar="USD", help="What a million tokens that it writes cost.")
@click.option(
    "--for",
    "roles",
    multiple=True,
    type=click.Choice((*ROLES, ROUTER)),
    help="Which role uses it; by default all free ones.",
)
@click.option("--no-test", is_flag=True, help="Make no call.")
@with_models
def add_model_command(models: ModelsInForce, /, name: str, **asked: Any) -> None:
    """Set up a model, and make one small call.

    Missing values are asked for at a terminal. The model is stored in your own settings under NAME (default: its
    provider). The key itself is never stored, only where to find it. If the call fails, nothing is stored.
    """
    endpoint = _endpoint_from(asked)
    name = name or endpoint.provider
    called = None if asked["no_test"] else call_model(endpoint)
    used: list[str] = []

    def change(settings: dict[str, Any]) -> dict[str, Any]:
        used[:] = asked["roles"] or free_roles(settings)
        return use_model(add_model(settings, name, endpoint), name, used)

    path = write_user_settings(change)
    print_note(f"{name}: {endpoint.model} at {endpoint.url}, {format_key_source(endpoint)}, in {path}")
    lines = [format_call(name, called)] if called is not None else []
    lines.append(f"used by: {', '.join(used)}" if used else f"no role uses it yet: git nexus model use {name}")
    payload = {"model": name, "roles": used, "call": call_as_json(called) if called is not None else None}
    print_answer(payload, "\n".join(lines), models.described)


def _endpoint_from(asked: dict[str, Any]) -> ModelEndpoint:
    """Return the model for the given options and answers. Raises: Invalid."""
    provider = asked["provider"] or _ask(f"Provider? [{'/'.join(PROVIDERS)}]", "ollama", "--provider")
    if provider not in PROVIDERS:
        raise Invalid(f"there is no provider {provider[:40]!r}", hint=f"there are: {', '.join(PROVIDERS)}")
    known = PROVIDERS[provider]
    spoken = choose_interface(known, asked["url"], asked["interface"])
    if spoken.missing:
        better = f"{install_command()} installs it, and adding the model again uses {known.interface}'s own interface"
        print_note(f"{spoken.missing} is not installed, so chat completions are spoken with {provider}; {better}")
    url = asked["url"] or (spoken.url and not is_person_at_terminal() and spoken.url) or ""
    url = url or _ask(f"Address? [{spoken.url}]", spoken.url, "--url")
    model = asked["model"] or _ask(f"Model? [{known.example}]", "", "--model") or known.example
    ways = [asked[name] for name in ("key_env", "key_command", "keyring") if asked[name]]
    key_env = asked["key_env"] or ("" if ways else known.key_env)
    keyring, key_command = asked["keyring"], asked["key_command"]
    if not ways and provider not in _WITHOUT_KEY and is_person_at_terminal():
        key_env, keyring, key_command = _ask_where_key_is(known.key_env)
    endpoint = ModelEndpoint(
        provider=provider,
        interface=spoken.interface,
        url=url,
        model=model,
        key_env=key_env,
        key_command=_words(key_command),
        keyring=keyring,
        usd_per_million_in=asked["usd_in"],
        usd_per_million_out=asked["usd_out"],
    )
    check_endpoint(endpoint, "the model")
    return endpoint


def _ask_where_key_is(variable: str) -> tuple[str, str, str]:
    """Return the variable, the account in the keyring or the command that has the key; the key is never asked for."""
    usual = "environment" if variable else "none"
    where = _ask(f"Where is the key? [environment/keyring/command/none] [{usual}]", usual, "--key-env")
    if where == "environment":
        return _ask(f"Variable with the key? [{variable or 'MY_KEY'}]", variable, "--key-env"), "", ""
    if where == "keyring":
        account = _ask("Account in the keyring, service git-nexus? [me]", "me", "--keyring")
        print_note(f"to store a key there: {shlex.join(keyring_store_command(account))}")
        return "", account, ""
    if where == "command":
        return "", "", _ask("Command that prints the key? [pass show models]", "", "--key-command")
    if where == "none":
        return "", "", ""
    raise Invalid(f"{where[:40]!r} is no place for a key", hint="environment, keyring, command or none")


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as exc:
        raise Invalid(f"--key-command: {exc}") from exc


def _ask(question: str, default: str, option: str) -> str:
    """Return what the user types, or the default. Raises: Invalid without a terminal."""
    if not is_person_at_terminal():
        raise Invalid(f"give it with {option}", hint="as in git nexus model add --provider ollama --model qwen3:8b")
    return ask_line(question) or default
