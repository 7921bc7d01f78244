"""Adapter for OpenCode, `opencode run`. Tested with 1.18.33."""

import json
from typing import Any

from gitnexus.adapters.lines import (
    OutputAccount,
    as_amount,
    as_count,
    as_mapping,
    as_shown_text,
    as_single_line,
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
from gitnexus.base.errors import Invalid

# It has fewer permissions than tools: `edit` covers everything that writes.
_PERMISSIONS = ("read", "list", "glob", "grep", "edit", "bash")
_WRITES = {"edit", "write", "apply_patch"}
_HOSTS = ("api.anthropic.com:443", "api.openai.com:443", "opencode.ai:443", "models.dev:443")
CONFIG = f"{HOME}/.config/opencode/opencode.json"
_SIGN_IN = ".local/share/opencode/auth.json"
_OFF = ("PROJECT_CONFIG", "AUTOUPDATE", "CLAUDE_CODE", "EXTERNAL_SKILLS", "LSP_DOWNLOAD", "MODELS_FETCH", "SHARE")


class OpenCodeAdapter:
    name = "opencode"
    program = "opencode"
    harness = "opencode"
    ways: tuple[Way, ...] = ("proposer", "contained")
    parses = "messages, tool calls, cost, tokens, turns, session"
    resumes = True

    def launch(self, job: AgentJob) -> AgentLaunch:
        """Return a launch in an empty folder, with permission to work in the named one.

        `--pure` and OPENCODE_DISABLE_PROJECT_CONFIG are not enough: in 1.18 a second plugin loader ignores both and
        imports .opencode/plugins of the folder in which it is started.
        """
        check_job(self, job)
        if job.address and "/" not in job.model:
            raise Invalid(
                "opencode needs the name of the model that is served there",
                hint="--model NAME/MODEL, with any name for who serves it",
            )
        argv = [job.program or self.program]
        if job.live:
            argv += ["acp", "--pure"]
        else:
            argv += ["run", "--format=json", "--pure"]
            argv += [f"--model={job.model}"] if job.model else []
            argv += [f"--session={job.session}"] if job.session else []
        return AgentLaunch(
            argv=tuple(argv),
            # Its folders are below its home: a runner sets the variables that name them (XDG_…) to those.
            env={"HOME": private_path(job, HOME), **{f"OPENCODE_DISABLE_{name}": "1" for name in _OFF}},
            keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENCODE_API_KEY"),
            login=((_SIGN_IN, f"{HOME}/{_SIGN_IN}"),),
            stdin=b"" if job.live else prompt_with_folder(job).encode(),
            files={CONFIG: json.dumps(_opencode_config(job, denied_tools(self, job))).encode()},
            network="full",
            hosts=hosts_to_reach(job, _HOSTS),
            start_in="empty",
        )

    def reader(self) -> "OpenCodeReader":
        return OpenCodeReader()


def prompt_with_folder(job: AgentJob) -> str:
    """Return the prompt with a note that the work is in a folder other than the current one."""
    where = f"Work in the folder {job.folder}; give it as workdir when you run a command.\n\n"
    return (where if job.way == "contained" else "") + prompt_text(job, with_instructions=True)


def _opencode_config(job: AgentJob, denied: tuple[str, ...]) -> dict[str, Any]:
    # The last matching rule counts, so denied tools come last.
    permission: dict[str, Any] = {"*": "deny"}
    if job.server:
        permission["nexus_*"] = "allow"
    if job.way == "contained":
        permission |= dict.fromkeys(_PERMISSIONS, "allow")
        permission |= {"edit": "ask", "bash": "ask"} if job.live else {}
        permission["external_directory"] = {"*": "deny", job.folder: "allow", f"{job.folder}/*": "allow"}
    permission |= {"edit" if tool in _WRITES else tool: "deny" for tool in denied}
    config: dict[str, Any] = {"autoupdate": False, "share": "disabled", "permission": permission}
    if job.live and job.model:
        config["model"] = job.model
    if job.budget.turns is not None:
        config["agent"] = {"build": {"steps": job.budget.turns}}
    provider, _, model = job.model.partition("/")
    if job.address and model:
        config["provider"] = {
            provider: {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": job.address, "apiKey": "{env:OPENAI_API_KEY}"},
                "models": {model: {}},
            }
        }
    if job.server:
        config["mcp"] = {"nexus": {"type": "local", "command": list(job.server), "enabled": True}}
    return config


class OpenCodeReader:
    """Parses `--format json`. There is no final line: it succeeded if its last step stopped by itself."""

    def __init__(self) -> None:
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"

    def feed(self, line: bytes) -> list[AgentEvent]:
        found = parse_json_line(line)
        if found is None:
            return self._account.noted(line)
        self._account.keep_session(found.get("sessionID"))
        part = as_mapping(found.get("part"))
        match found.get("type"):
            case "step_start":
                self._reason = "unfinished"
                return [] if self._account.turns else [AgentEvent(kind="progress", text="started")]
            case "text":
                return self._account.said(part.get("text"))
            case "reasoning":
                return [AgentEvent(kind="progress", text=as_shown_text(part.get("text")))]
            case "tool_use":
                return _tool_events(part)
            case "step_finish":
                return self._finish_step(part)
            case "error":
                self._reason = "failed"
                error = as_mapping(found.get("error"))
                return self._account.failed(as_mapping(error.get("data")).get("message") or error.get("name"))
        return []

    def end(self, status: int) -> AgentEnd:
        return self._account.ended(status, self._reason)

    def _finish_step(self, part: dict[str, Any]) -> list[AgentEvent]:
        account, tokens = self._account, as_mapping(part.get("tokens"))
        cache = as_mapping(tokens.get("cache"))
        account.turns += 1
        account.tokens_in += as_count(tokens.get("input")) + as_count(cache.get("read")) + as_count(cache.get("write"))
        account.tokens_out += as_count(tokens.get("output")) + as_count(tokens.get("reasoning"))
        cost = as_amount(part.get("cost"))
        if cost is not None:
            account.cost_usd = (account.cost_usd or 0.0) + cost
        if part.get("reason") == "stop":
            self._reason = "completed"
        return account.used()


def _tool_events(part: dict[str, Any]) -> list[AgentEvent]:
    """Return a call and its result: the line arrives when both are known."""
    state, name, call = (
        as_mapping(part.get("state")),
        as_single_line(part.get("tool")),
        as_single_line(part.get("callID")),
    )
    ok = state.get("status") == "completed"
    told = as_shown_text(state.get("output") if ok else state.get("error"))
    return [
        AgentEvent(kind="tool_call", text=as_shown_text(state.get("input")), tool=name, call=call),
        AgentEvent(kind="tool_result", text=told, tool=name, call=call, ok=ok),
    ]
