"""Adapter for Claude Code in headless mode. Tested with 2.1.197 and 2.1.325."""

import json
from typing import Any

from gitnexus.adapters.lines import (
    OutputAccount,
    as_amount,
    as_count,
    as_mapping,
    as_shown_text,
    as_single_line,
    mappings_in_list,
    parse_json_line,
)
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

_READS = ("Read", "Glob", "Grep")
# What a contained agent gets, by name: a list of what is there stays true when a new version brings more tools.
_TOOLS = ("Read", "Glob", "Grep", "Edit", "Write", "NotebookEdit", "Bash")
_HOSTS = ("api.anthropic.com:443",)
_WAITS = {
    "MCP_CONNECTION_NONBLOCKING": "0",
    **dict.fromkeys(("MCP_CONNECT_TIMEOUT_MS", "CLAUDE_CODE_MCP_STARTUP_WAIT_MS", "MCP_TIMEOUT"), "60000"),
}
_MOST_MESSAGES = 100_000
_LIMITS = ("error_max_turns", "error_max_budget_usd")


class ClaudeAdapter:
    name = "claude"
    program = "claude"
    harness = "claude-code"
    ways: tuple[Way, ...] = ("proposer", "contained")
    parses = "messages, tool calls, cost, tokens, turns, session"
    resumes = True

    def launch(self, job: AgentJob) -> AgentLaunch:
        """Return a launch that ignores all settings, hooks, servers, skills and notes of the repository."""
        check_job(self, job)
        denied = denied_tools(self, job)
        tools = [tool for tool in _TOOLS if tool not in denied] if job.way == "contained" else []
        if job.live:
            # What an edit of a notebook would come to is not known before it is made.
            tools = [tool for tool in tools if tool != "NotebookEdit"]
        free = [tool for tool in tools if tool in _READS] if job.live else tools
        allowed = [*free, *(["mcp__nexus"] if job.server else [])]
        # One word with = for each option: several of them take lists and would swallow the word after.
        argv = [
            *(job.program or self.program, "-p", "--output-format=stream-json", "--verbose"),
            *("--setting-sources=", "--strict-mcp-config", "--disable-slash-commands"),
            f"--settings={private_path(job, 'settings.json')}",
            f"--mcp-config={private_path(job, 'servers.json')}",
            f"--tools={','.join(tools)}",
            # Whatever would ask is denied at once where nobody is there to answer.
            "--permission-mode=" + ("default" if job.live else "acceptEdits" if tools else "dontAsk"),
            *(("--input-format=stream-json", "--permission-prompt-tool=stdio") if job.live else ()),
        ]
        if allowed:
            argv.append(f"--allowedTools={','.join(allowed)}")
        if denied:
            argv.append(f"--disallowedTools={','.join(denied)}")
        if job.instructions:
            argv.append(f"--append-system-prompt-file={private_path(job, 'instructions.md')}")
        if job.model:
            argv.append(f"--model={job.model}")
        if job.session:
            argv.append(f"--resume={job.session}")
        if job.budget.usd is not None:
            argv.append(f"--max-budget-usd={job.budget.usd}")
        if job.budget.turns is not None:
            argv.append(f"--max-turns={job.budget.turns}")
        return AgentLaunch(
            argv=tuple(argv),
            env={
                "HOME": private_path(job, HOME),
                "CLAUDE_CONFIG_DIR": private_path(job, "claude"),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                # It waits five seconds for servers, if at all, and begins without them: a proposer would have no tool.
                **_WAITS,
                **({"ANTHROPIC_BASE_URL": job.address} if job.address else {}),
            },
            keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"),
            login=((".claude/.credentials.json", "claude/.credentials.json"),),
            stdin=b"" if job.live else prompt_text(job).encode(),
            files=_private_files(job, [tool for tool in tools if tool not in free]),
            network="full",
            hosts=hosts_to_reach(job, _HOSTS),
            start_in="folder" if tools else "empty",
        )

    def reader(self) -> "ClaudeReader":
        return ClaudeReader()


def _private_files(job: AgentJob, asks: list[str]) -> dict[str, bytes]:
    servers = {"nexus": {"command": job.server[0], "args": list(job.server[1:])}} if job.server else {}
    files = {
        # By a rule of ours it asks about each call, also about those that it holds for harmless.
        "settings.json": json.dumps(
            {"disableAllHooks": True, **({"permissions": {"ask": asks}} if asks else {})}
        ).encode(),
        "servers.json": json.dumps({"mcpServers": servers}).encode(),
    }
    if job.instructions:
        files["instructions.md"] = job.instructions.encode()
    return files


class ClaudeReader:
    """Parses stream-json: one object per line, the last one is `result`."""

    def __init__(self) -> None:
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"
        # A message comes in several lines, one a block, each with the same usage.
        self._counted: set[str] = set()

    def feed(self, line: bytes) -> list[AgentEvent]:
        found = parse_json_line(line)
        if found is None:
            return self._account.noted(line)
        self._account.keep_session(found.get("session_id"))
        match found.get("type"):
            case "assistant":
                return [
                    *(said for block in self._content_blocks(found) for said in self._events_of_block(block)),
                    *self._usage_so_far(found),
                ]
            case "user":
                return [
                    _tool_result_event(block)
                    for block in self._content_blocks(found)
                    if block.get("type") == "tool_result"
                ]
            case "system":
                return self._events_of_system(found)
            case "result":
                return self._take_result(found)
        return []

    def end(self, status: int) -> AgentEnd:
        return self._account.ended(status, self._reason)

    @staticmethod
    def _content_blocks(found: dict[str, Any]) -> list[dict[str, Any]]:
        return mappings_in_list(as_mapping(found.get("message")).get("content"))

    def _events_of_block(self, block: dict[str, Any]) -> list[AgentEvent]:
        if block.get("type") == "text":
            return self._account.said(block.get("text"))
        if block.get("type") == "tool_use":
            given = as_shown_text(block.get("input"))
            return [
                AgentEvent(
                    kind="tool_call",
                    text=given,
                    tool=as_single_line(block.get("name")),
                    call=as_single_line(block.get("id")),
                )
            ]
        return []

    def _usage_so_far(self, found: dict[str, Any]) -> list[AgentEvent]:
        """Report the usage so far; `result` reports the exact total at the end."""
        message = as_mapping(found.get("message"))
        id_, usage = as_single_line(message.get("id")), as_mapping(message.get("usage"))
        if not usage or not id_ or id_ in self._counted or len(self._counted) > _MOST_MESSAGES:
            return []
        self._counted.add(id_)
        self._account.tokens_in += _count_input_tokens(usage)
        self._account.tokens_out += as_count(usage.get("output_tokens"))
        return self._account.used()

    def _events_of_system(self, found: dict[str, Any]) -> list[AgentEvent]:
        match found.get("subtype"):
            case "init":
                return [AgentEvent(kind="progress", text=f"started {as_single_line(found.get('model'))}".strip())]
            case "api_retry":
                return [
                    AgentEvent(
                        kind="progress", text=f"the model did not answer, attempt {as_count(found.get('attempt'))}"
                    )
                ]
            case "permission_denied":
                told, tool = as_shown_text(found.get("message")), as_single_line(found.get("tool_name"))
                return [
                    AgentEvent(
                        kind="error", text=told, tool=tool, call=as_single_line(found.get("tool_use_id")), ok=False
                    )
                ]
        return []

    def _take_result(self, found: dict[str, Any]) -> list[AgentEvent]:
        account, usage = self._account, as_mapping(found.get("usage"))
        account.tokens_in = _count_input_tokens(usage)
        account.tokens_out = as_count(usage.get("output_tokens"))
        account.cost_usd = as_amount(found.get("total_cost_usd"))
        account.turns = as_count(found.get("num_turns"))
        account.denials = len(mappings_in_list(found.get("permission_denials")))
        if found.get("subtype") == "success" and found.get("is_error") is False:
            self._reason = "completed"
            result = as_shown_text(found.get("result"))
            return [
                *([] if not result or result == as_shown_text(account.message) else account.said(result)),
                *account.used(),
            ]
        self._reason = "limit" if found.get("subtype") in _LIMITS else "failed"
        errors = found.get("errors")
        told = errors[0] if isinstance(errors, list) and errors else found.get("result") or found.get("subtype")
        return [*account.failed(told), *account.used()]


def _count_input_tokens(usage: dict[str, Any]) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(as_count(usage.get(name)) for name in names)


def _tool_result_event(block: dict[str, Any]) -> AgentEvent:
    content = block.get("content")
    pieces = [piece.get("text") for piece in mappings_in_list(content)] if isinstance(content, list) else [content]
    told = as_shown_text("\n".join(piece for piece in pieces if isinstance(piece, str)))
    return AgentEvent(
        kind="tool_result",
        text=told,
        call=as_single_line(block.get("tool_use_id")),
        ok=block.get("is_error") is not True,
    )
