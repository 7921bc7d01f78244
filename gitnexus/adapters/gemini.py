"""Adapter for Gemini CLI in headless mode. Tested with 0.61.0."""

import json
from typing import Any

from gitnexus.adapters.lines import OutputAccount, as_count, as_mapping, as_shown_text, as_single_line, parse_json_line
from gitnexus.adapters.protocol import (
    HOME,
    AgentEnd,
    AgentEvent,
    AgentJob,
    AgentLaunch,
    Reason,
    Way,
    check_job,
    denied_tools,
    hosts_to_reach,
    private_path,
    prompt_text,
)
from gitnexus.base.errors import Invalid

_TOOLS = ("read_file", "read_many_files", "list_directory", "glob", "grep_search", "replace", "write_file")
_SHELL = "run_shell_command"
_CHANGES = ("replace", "write_file", _SHELL)
_HOSTS = ("generativelanguage.googleapis.com:443",)
_TURNS = 53


class GeminiAdapter:
    name = "gemini"
    program = "gemini"
    harness = "gemini-cli"
    ways: tuple[Way, ...] = ("proposer", "contained")
    parses = "messages, tool calls, tokens, session"
    resumes = True

    def launch(self, job: AgentJob) -> AgentLaunch:
        """Return a launch in an empty folder, where there are no settings, hooks and .env to read.

        The worktree is added by name; the program reads files from such a folder, but not settings.
        """
        check_job(self, job)
        denied = denied_tools(self, job)
        tools = [tool for tool in (*_TOOLS, _SHELL) if tool not in denied] if job.way == "contained" else []
        # In the mode `default` a command with > in it asked although a rule allowed it, and nobody is there to answer.
        # The rules apply in the mode `yolo` as well: a user's rules override those of a mode.
        mode = "yolo" if tools and not job.live else "default"
        speaks = "--acp" if job.live else "--output-format=stream-json"
        argv = [job.program or self.program, speaks, f"--approval-mode={mode}", "--skip-trust"]
        argv += [f"--include-directories={job.folder}"] if tools else []
        argv += [f"--model={job.model}"] if job.model else []
        argv += [f"--resume={job.session}"] if job.session and not job.live else []
        if tools and "," in job.folder:
            # The option is a list with commas, and no way to quote one.
            raise Invalid("gemini cannot work in a folder with a comma in its path", hint="move the repository")
        home = f"{HOME}/.gemini"
        return AgentLaunch(
            argv=tuple(argv),
            env={
                "HOME": private_path(job, HOME),
                "GEMINI_CLI_HOME": private_path(job, HOME),
                "GEMINI_CLI_NO_RELAUNCH": "true",
                **({"GOOGLE_GEMINI_BASE_URL": job.address} if job.address else {}),
            },
            keys=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
            stdin=b"" if job.live else prompt_with_folder(job).encode(),
            files={
                f"{home}/settings.json": json.dumps(_gemini_settings(job)).encode(),
                f"{home}/policies/nexus.toml": _render_policy(tools, denied, live=job.live).encode(),
            },
            network="full",
            hosts=hosts_to_reach(job, _HOSTS),
            start_in="empty",
        )

    def reader(self) -> "GeminiReader":
        return GeminiReader()


def prompt_with_folder(job: AgentJob) -> str:
    """Return the prompt with a note that the work is in a folder other than the current one."""
    where = f"Work in the folder {job.folder}; give it as dir_path when you run a command.\n\n"
    return (where if job.way == "contained" else "") + prompt_text(job, with_instructions=True)


def _gemini_settings(job: AgentJob) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "hooksConfig": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "mcp": {"allowed": ["nexus"]},
        # A terminal for each command needs more than some sandboxes have, and no person sits before it.
        "tools": {"shell": {"enableInteractiveShell": False}},
    }
    if job.budget.turns is not None:
        settings["model"] = {"maxSessionTurns": job.budget.turns}
    if job.server:
        settings["mcpServers"] = {"nexus": {"command": job.server[0], "args": list(job.server[1:]), "trust": True}}
    return settings


def _render_policy(tools: list[str], denied: tuple[str, ...], *, live: bool = False) -> str:
    """Return the program's rules: allow our server, and a contained agent's tools, except those the role may not use.

    In a live conversation, it asks about tools that do more than read.
    """
    rules = [
        'toolName = "*"\ndecision = "deny"\npriority = 100',
        'mcpName = "nexus"\ntoolName = "*"\ndecision = "allow"\npriority = 200',
    ]
    for tool in tools:
        decision = "ask_user" if live and tool in _CHANGES else "allow"
        rules.append(f'toolName = "{tool}"\ndecision = "{decision}"\npriority = 200')
    for tool in denied:
        of_ours = tool.startswith("mcp_nexus_")
        name = (
            f'mcpName = "nexus"\ntoolName = "{tool.removeprefix("mcp_nexus_")}"' if of_ours else f'toolName = "{tool}"'
        )
        rules.append(f'{name}\ndecision = "deny"\npriority = 300')
    return "".join(f"[[rule]]\n{rule}\n\n" for rule in rules)


class GeminiReader:
    """Parses stream-json; a message arrives in pieces and ends where another kind of event begins."""

    def __init__(self) -> None:
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"
        self._pieces = ""

    def feed(self, line: bytes) -> list[AgentEvent]:
        found = parse_json_line(line)
        if found is None:
            return self._account.noted(line)
        if found.get("type") == "message":
            return self._take_message(found)
        whole, self._pieces = self._account.said(self._pieces), ""
        match found.get("type"):
            case "init":
                self._account.keep_session(found.get("session_id"))
                whole.append(AgentEvent(kind="progress", text=f"started {as_single_line(found.get('model'))}".strip()))
            case "tool_use":
                given, call = as_shown_text(found.get("parameters")), as_single_line(found.get("tool_id"))
                whole.append(
                    AgentEvent(kind="tool_call", text=given, tool=as_single_line(found.get("tool_name")), call=call)
                )
            case "tool_result":
                whole.append(self._tool_result_event(found))
            case "error":
                whole += self._account.failed(found.get("message"))
            case "result":
                whole += self._take_result(found)
        return whole

    def end(self, status: int) -> AgentEnd:
        self._account.said(self._pieces)
        return self._account.ended(status, "limit" if status == _TURNS else self._reason)

    def _take_message(self, found: dict[str, Any]) -> list[AgentEvent]:
        if found.get("role") != "assistant":
            return []
        piece = found.get("content")
        if isinstance(piece, str) and len(self._pieces) < 100_000:
            self._pieces += piece
        if found.get("delta") is True:
            return []
        whole, self._pieces = self._pieces, ""
        return self._account.said(whole)

    def _tool_result_event(self, found: dict[str, Any]) -> AgentEvent:
        error = as_mapping(found.get("error"))
        self._account.denials += error.get("type") == "policy_violation"
        told = as_shown_text(error.get("message") if error else found.get("output"))
        return AgentEvent(
            kind="tool_result",
            text=told,
            call=as_single_line(found.get("tool_id")),
            ok=found.get("status") == "success",
        )

    def _take_result(self, found: dict[str, Any]) -> list[AgentEvent]:
        account, stats = self._account, as_mapping(found.get("stats"))
        account.tokens_in, account.tokens_out = (
            as_count(stats.get("input_tokens")),
            as_count(stats.get("output_tokens")),
        )
        if found.get("status") == "success":
            self._reason = "completed"
            return account.used()
        self._reason = "failed"
        return [*account.failed(as_mapping(found.get("error")).get("message")), *account.used()]
