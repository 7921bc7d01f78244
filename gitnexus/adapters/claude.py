"""Claude Code, headless. Seen with 2.1.197 and 2.1.325."""

import json
from typing import Any

from gitnexus.adapters.lines import Account, items, mapping, money, number, object_in, text, word
from gitnexus.adapters.protocol import (
    HOME,
    Ended,
    Job,
    Launch,
    Reason,
    Said,
    Way,
    asked,
    below,
    checked,
    denied_tools,
    reached,
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


class Claude:
    name = "claude"
    program = "claude"
    harness = "claude-code"
    ways: tuple[Way, ...] = ("proposer", "contained")
    parses = "messages, tool calls, cost, tokens, turns, session"
    resumes = True

    def launch(self, job: Job) -> Launch:
        """Return how to start it: none of the settings, hooks, servers, skills and notes of the repository count."""
        checked(self, job)
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
            f"--settings={below(job, 'settings.json')}",
            f"--mcp-config={below(job, 'servers.json')}",
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
            argv.append(f"--append-system-prompt-file={below(job, 'instructions.md')}")
        if job.model:
            argv.append(f"--model={job.model}")
        if job.session:
            argv.append(f"--resume={job.session}")
        if job.budget.usd is not None:
            argv.append(f"--max-budget-usd={job.budget.usd}")
        if job.budget.turns is not None:
            argv.append(f"--max-turns={job.budget.turns}")
        return Launch(
            argv=tuple(argv),
            env={
                "HOME": below(job, HOME),
                "CLAUDE_CONFIG_DIR": below(job, "claude"),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                # It waits five seconds for servers, if at all, and begins without them: a proposer would have no tool.
                **_WAITS,
                **({"ANTHROPIC_BASE_URL": job.address} if job.address else {}),
            },
            keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"),
            login=((".claude/.credentials.json", "claude/.credentials.json"),),
            stdin=b"" if job.live else asked(job).encode(),
            files=_files(job, [tool for tool in tools if tool not in free]),
            network="full",
            hosts=reached(job, _HOSTS),
            place="folder" if tools else "empty",
        )

    def reader(self) -> "ClaudeReader":
        return ClaudeReader()


def _files(job: Job, asks: list[str]) -> dict[str, bytes]:
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
    """Reads stream-json: one object a line, the last of them `result`."""

    def __init__(self) -> None:
        self._account = Account()
        self._reason: Reason = "unfinished"
        # A message comes in several lines, one a block, each with the same usage.
        self._counted: set[str] = set()

    def feed(self, line: bytes) -> list[Said]:
        found = object_in(line)
        if found is None:
            return self._account.noted(line)
        self._account.named(found.get("session_id"))
        match found.get("type"):
            case "assistant":
                return [*(said for block in self._blocks(found) for said in self._told(block)), *self._so_far(found)]
            case "user":
                return [_result(block) for block in self._blocks(found) if block.get("type") == "tool_result"]
            case "system":
                return self._system(found)
            case "result":
                return self._end(found)
        return []

    def end(self, status: int) -> Ended:
        return self._account.ended(status, self._reason)

    @staticmethod
    def _blocks(found: dict[str, Any]) -> list[dict[str, Any]]:
        return items(mapping(found.get("message")).get("content"))

    def _told(self, block: dict[str, Any]) -> list[Said]:
        if block.get("type") == "text":
            return self._account.said(block.get("text"))
        if block.get("type") == "tool_use":
            given = text(block.get("input"))
            return [Said(kind="tool_call", text=given, tool=word(block.get("name")), call=word(block.get("id")))]
        return []

    def _so_far(self, found: dict[str, Any]) -> list[Said]:
        """Tell what was used until now; `result` tells it once more, and exactly."""
        message = mapping(found.get("message"))
        id_, usage = word(message.get("id")), mapping(message.get("usage"))
        if not usage or not id_ or id_ in self._counted or len(self._counted) > _MOST_MESSAGES:
            return []
        self._counted.add(id_)
        self._account.tokens_in += _taken_in(usage)
        self._account.tokens_out += number(usage.get("output_tokens"))
        return self._account.used()

    def _system(self, found: dict[str, Any]) -> list[Said]:
        match found.get("subtype"):
            case "init":
                return [Said(kind="progress", text=f"started {word(found.get('model'))}".strip())]
            case "api_retry":
                return [Said(kind="progress", text=f"the model did not answer, attempt {number(found.get('attempt'))}")]
            case "permission_denied":
                told, tool = text(found.get("message")), word(found.get("tool_name"))
                return [Said(kind="error", text=told, tool=tool, call=word(found.get("tool_use_id")), ok=False)]
        return []

    def _end(self, found: dict[str, Any]) -> list[Said]:
        account, usage = self._account, mapping(found.get("usage"))
        account.tokens_in = _taken_in(usage)
        account.tokens_out = number(usage.get("output_tokens"))
        account.cost_usd = money(found.get("total_cost_usd"))
        account.turns = number(found.get("num_turns"))
        account.denials = len(items(found.get("permission_denials")))
        if found.get("subtype") == "success" and found.get("is_error") is False:
            self._reason = "completed"
            result = text(found.get("result"))
            return [*([] if not result or result == text(account.message) else account.said(result)), *account.used()]
        self._reason = "limit" if found.get("subtype") in _LIMITS else "failed"
        errors = found.get("errors")
        told = errors[0] if isinstance(errors, list) and errors else found.get("result") or found.get("subtype")
        return [*account.failed(told), *account.used()]


def _taken_in(usage: dict[str, Any]) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(number(usage.get(name)) for name in names)


def _result(block: dict[str, Any]) -> Said:
    content = block.get("content")
    pieces = [piece.get("text") for piece in items(content)] if isinstance(content, list) else [content]
    told = text("\n".join(piece for piece in pieces if isinstance(piece, str)))
    return Said(
        kind="tool_result", text=told, call=word(block.get("tool_use_id")), ok=block.get("is_error") is not True
    )
