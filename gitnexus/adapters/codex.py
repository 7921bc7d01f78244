"""Adapter for Codex, `codex exec`. Tested with 0.166.0."""

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

_HOSTS = ("api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443")
# Settings cannot change the address of its own provider, so we add one.
_PROVIDER = "nexus"
_SHELL = {"exec_command", "shell_command", "Bash"}


class CodexAdapter:
    name = "codex"
    program = "codex"
    harness = "codex"
    ways: tuple[Way, ...] = ("proposer", "contained")
    parses = "messages, commands, file changes, tool calls, tokens, session"
    resumes = True

    def launch(self, job: AgentJob) -> AgentLaunch:
        """Return a launch with a home of its own, in an untrusted folder, so that its .codex is not read.

        For a contained agent, its own sandbox is off: ours surrounds it, and nested sandboxes may not start. Without
        ours the agent would be unrestricted, so a runner without a sandbox must not start it contained. apply_patch
        cannot be disabled; for a role that may not edit, its own sandbox is on and read-only.
        """
        check_job(self, job)
        denied = set(denied_tools(self, job))
        reads = job.way == "proposer" or "apply_patch" in denied
        shell = job.way == "contained" and not denied & _SHELL
        features = [] if shell else ["shell_tool", "unified_exec"]
        features += ["multi_agent"] if "spawn_agent" in denied or job.way == "proposer" else []
        sandbox = f'sandbox_mode="{"read-only" if reads else "danger-full-access"}"'
        off = [word for feature in features for word in ("--disable", feature)]
        return AgentLaunch(
            argv=(job.program or self.program, *_command_words(job, sandbox, off)),
            env={"HOME": private_path(job, HOME), "CODEX_HOME": private_path(job, "codex")},
            keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
            login=((".codex/auth.json", "codex/auth.json"),),
            stdin=b"" if job.live else prompt_text(job).encode(),
            files={"codex/config.toml": _render_config(job, denied).encode()},
            network="full",
            hosts=hosts_to_reach(job, _HOSTS),
            start_in="empty" if job.way == "proposer" else "folder",
        )

    def reader(self) -> "CodexReader":
        return CodexReader()


def _command_words(job: AgentJob, sandbox: str, off: list[str]) -> list[str]:
    if job.live:
        model = ["-c", f"model={_quote_toml(job.model)}"] if job.model else []
        return ["app-server", "-c", sandbox, *off, *model]
    argv = ["exec", *(["resume"] if job.session else []), "--json", "--ignore-rules", "--skip-git-repo-check"]
    argv += ["-c", sandbox, *off]
    argv += ["--model", job.model] if job.model else []
    argv += [job.session] if job.session else []
    return [*argv, "-"]


def _render_config(job: AgentJob, denied: set[str]) -> str:
    """Return config.toml; a JSON string without escapes of characters is also a TOML string."""
    lines = [
        f'approval_policy = "{"on-request" if job.live else "never"}"',
        "project_doc_max_bytes = 0",
        'web_search = "disabled"',
        "notify = []",
    ]
    if job.address:
        lines.append(f'model_provider = "{_PROVIDER}"')
    if job.instructions:
        lines.append(f"developer_instructions = {_quote_toml(job.instructions)}")
    lines += ["", f"[projects.{_quote_toml(job.folder)}]", 'trust_level = "untrusted"']
    if job.address:
        lines += [
            "",
            f"[model_providers.{_PROVIDER}]",
            f'name = "{_PROVIDER}"',
            f"base_url = {_quote_toml(job.address)}",
        ]
        lines += ['env_key = "OPENAI_API_KEY"', 'wire_api = "responses"']
    if job.server:
        own = sorted(name.removeprefix("mcp__nexus__") for name in denied if name.startswith("mcp__nexus__"))
        lines += ["", "[mcp_servers.nexus]", f"command = {_quote_toml(job.server[0])}"]
        lines += [f"args = [{', '.join(map(_quote_toml, job.server[1:]))}]", "required = true"]
        lines += [f"disabled_tools = [{', '.join(map(_quote_toml, own))}]", 'default_tools_approval_mode = "approve"']
    return "\n".join(lines) + "\n"


def _quote_toml(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class CodexReader:
    """Parses the events of `--json`; `turn.failed` is an end, an `error` line is not."""

    def __init__(self) -> None:
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"

    def feed(self, line: bytes) -> list[AgentEvent]:
        found = parse_json_line(line)
        if found is None:
            return self._account.noted(line)
        match found.get("type"):
            case "thread.started":
                self._account.keep_session(found.get("thread_id"))
                return [AgentEvent(kind="progress", text="started")]
            case "item.started":
                return _tool_call_events(as_mapping(found.get("item")))
            case "item.completed":
                return self._events_of_item(as_mapping(found.get("item")))
            case "turn.completed":
                return self._finish_turn(as_mapping(found.get("usage")))
            case "turn.failed":
                self._reason = "failed"
                return self._account.failed(as_mapping(found.get("error")).get("message"))
            case "error":
                return self._account.failed(found.get("message"))
        return []

    def end(self, status: int) -> AgentEnd:
        return self._account.ended(status, self._reason)

    def _finish_turn(self, usage: dict[str, Any]) -> list[AgentEvent]:
        # The counts are those of the whole session so far, not of the turn.
        self._account.tokens_in = as_count(usage.get("input_tokens"))
        self._account.tokens_out = as_count(usage.get("output_tokens"))
        self._account.turns += 1
        self._reason = "completed"
        return self._account.used()

    def _events_of_item(self, item: dict[str, Any]) -> list[AgentEvent]:
        ok = item.get("status") not in ("failed", "declined")
        call = as_single_line(item.get("id"))
        match item.get("type"):
            case "agent_message":
                return self._account.said(item.get("text"))
            case "reasoning":
                return [AgentEvent(kind="progress", text=as_shown_text(item.get("text")))]
            case "command_execution":
                self._account.denials += item.get("status") == "declined"
                return [
                    AgentEvent(
                        kind="tool_result",
                        text=as_shown_text(item.get("aggregated_output")),
                        tool="command",
                        call=call,
                        ok=ok,
                    )
                ]
            case "file_change":
                told = as_shown_text(item.get("changes"))
                return [AgentEvent(kind="tool_result", text=told, tool="apply_patch", call=call, ok=ok)]
            case "mcp_tool_call":
                told = as_shown_text(item.get("error") or item.get("result"))
                return [
                    AgentEvent(kind="tool_result", text=told, tool=as_single_line(item.get("tool")), call=call, ok=ok)
                ]
            case "error":
                # A warning; the turn continues, and the warning must not become the reason of an end.
                return [AgentEvent(kind="error", text=as_shown_text(item.get("message")), ok=False)]
        return []


def _tool_call_events(item: dict[str, Any]) -> list[AgentEvent]:
    call = as_single_line(item.get("id"))
    match item.get("type"):
        case "command_execution":
            return [AgentEvent(kind="tool_call", text=as_shown_text(item.get("command")), tool="command", call=call)]
        case "mcp_tool_call":
            return [
                AgentEvent(
                    kind="tool_call",
                    text=as_shown_text(item.get("arguments")),
                    tool=as_single_line(item.get("tool")),
                    call=call,
                )
            ]
    return []
