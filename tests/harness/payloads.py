"""What the four programs send at each event, as they were seen to; {place} stands for the folder of the project.

Claude Code 2.1.325, Codex 0.166 and Gemini CLI 0.61 were recorded with a hook that kept its stdin; what OpenCode 1.18
sends is what our plug-in makes of its events.
"""

import json
from typing import Any

from gitnexus.harness.model import Event

Payload = dict[str, Any]

_CLAUDE = {
    "session_id": "bdffacb9-34a5-4e7b-a501-8bda3377da5e",
    "transcript_path": "/home/somebody/.claude/projects/x/bdffacb9.jsonl",
    "cwd": "{place}",
}
_CLAUDE_TURN = {**_CLAUDE, "prompt_id": "532c46bc-84ff-4b5c-abd2-20bece4415bc", "permission_mode": "acceptEdits"}
_CLAUDE_AGENT = {"agent_id": "ab509d105add22348", "agent_type": "nexus:engineer"}
_CODEX = {
    "session_id": "01a1e589-fb82-7da3-b14c-8f37955c54a4",
    "transcript_path": "/home/somebody/.codex/sessions/rollout-1.jsonl",
    "cwd": "{place}",
    "model": "gpt-5",
    "permission_mode": "bypassPermissions",
}
_CODEX_TURN = {**_CODEX, "turn_id": "01a1e589-ff01-79e0-8235-fed8d964107c"}
_CODEX_AGENT = {"agent_id": "01a1e589-feeb-7203-9751-807bdc7b0bd3", "agent_type": "engineer"}
_GEMINI = {
    "session_id": "78f473bd-842c-4310-84cd-4a41ee9b6f1d",
    "transcript_path": "/home/somebody/.gemini/tmp/x/chats/session-1.jsonl",
    "cwd": "{place}",
    "timestamp": "2026-11-16T18:04:19.047Z",
}
_OPENCODE = {"session": "ses_01", "cwd": "{place}"}
_OPENCODE_AGENT = {"agent": "engineer", "agentId": "ses_02"}
_PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-hello\n+hallo\n*** Add File: n.txt\n+n\n*** End Patch\n"

RECORDED: dict[str, dict[Event, Payload]] = {
    "claude-code": {
        "session_start": {**_CLAUDE, "hook_event_name": "SessionStart", "source": "startup"},
        "user_message": {**_CLAUDE_TURN, "hook_event_name": "UserPromptSubmit", "prompt": "please go on"},
        "subagent_spawn": {**_CLAUDE, **_CLAUDE_AGENT, "hook_event_name": "SubagentStart"},
        "pre_tool_use": {
            **_CLAUDE_TURN,
            "effort": {"level": "high"},
            "hook_event_name": "PreToolUse",
            "tool_name": "Agent",
            "tool_input": {"description": "do", "prompt": "Do task 1.", "subagent_type": "engineer"},
            "tool_use_id": "toolu_3",
        },
        "post_tool_use": {
            **_CLAUDE_TURN,
            **_CLAUDE_AGENT,
            "hook_event_name": "PostToolUse",
            "tool_name": "Edit",
            "tool_input": {"file_path": "{place}/a.txt", "old_string": "hello", "new_string": "hallo"},
            "tool_response": {"filePath": "{place}/a.txt", "oldString": "hello", "userModified": False},
            "tool_use_id": "toolu_1",
            "duration_ms": 4,
        },
        "subagent_complete": {
            **_CLAUDE_TURN,
            **_CLAUDE_AGENT,
            "hook_event_name": "SubagentStop",
            "stop_hook_active": False,
            "agent_transcript_path": "/home/somebody/.claude/projects/x/subagents/agent-ab509d105add22348.jsonl",
            "last_assistant_message": "sub done",
            "background_tasks": [],
            "session_crons": [],
        },
        "context_compact": {
            **_CLAUDE,
            "hook_event_name": "PostCompact",
            "trigger": "manual",
            "compact_summary": "compacted fine",
        },
        "session_end": {**_CLAUDE, "hook_event_name": "SessionEnd", "reason": "other"},
    },
    "codex": {
        "session_start": {**_CODEX, "hook_event_name": "SessionStart", "source": "startup"},
        "user_message": {**_CODEX_TURN, "hook_event_name": "UserPromptSubmit", "prompt": "please go on"},
        "subagent_spawn": {**_CODEX_TURN, **_CODEX_AGENT, "hook_event_name": "SubagentStart"},
        "pre_tool_use": {
            **_CODEX_TURN,
            "hook_event_name": "PreToolUse",
            "tool_name": "spawn_agent",
            "tool_input": {"agent_type": "engineer", "message": "Do task 1."},
            "tool_use_id": "call_3",
        },
        "post_tool_use": {
            **_CODEX_TURN,
            **_CODEX_AGENT,
            "hook_event_name": "PostToolUse",
            "tool_name": "apply_patch",
            "tool_input": {"command": _PATCH},
            "tool_response": "Success. Updated the following files:\nM a.txt\nA n.txt\n",
            "tool_use_id": "call_1",
        },
        "subagent_complete": {
            **_CODEX_TURN,
            **_CODEX_AGENT,
            "hook_event_name": "SubagentStop",
            "agent_transcript_path": None,
            "stop_hook_active": False,
            "last_assistant_message": "sub done",
        },
        "context_compact": {**_CODEX_TURN, "hook_event_name": "PostCompact", "trigger": "auto"},
        "session_end": {**_CODEX, "hook_event_name": "SessionEnd", "reason": "other"},
    },
    "gemini-cli": {
        "session_start": {**_GEMINI, "hook_event_name": "SessionStart", "source": "startup"},
        "user_message": {
            **_GEMINI,
            "hook_event_name": "BeforeAgent",
            "prompt": "<hook_context>[d] what a hook said</hook_context>\n\nplease go on",
        },
        "pre_tool_use": {
            **_GEMINI,
            "hook_event_name": "BeforeTool",
            "tool_name": "invoke_agent",
            "tool_input": {"agent_name": "engineer", "prompt": "Do task 1."},
        },
        "post_tool_use": {
            **_GEMINI,
            "hook_event_name": "AfterTool",
            "tool_name": "replace",
            "tool_input": {"file_path": "{place}/a.txt", "old_string": "hello", "new_string": "hallo"},
            "tool_response": {
                "llmContent": "Successfully modified file: {place}/a.txt (1 replacements).",
                "returnDisplay": {"fileName": "a.txt", "filePath": "{place}/a.txt"},
            },
        },
        "context_compact": {**_GEMINI, "hook_event_name": "PreCompress", "trigger": "manual"},
        "session_end": {**_GEMINI, "hook_event_name": "SessionEnd", "reason": "exit"},
    },
    "opencode": {
        "session_start": {**_OPENCODE, "event": "session.created"},
        "user_message": {**_OPENCODE, "event": "chat.message", "text": "please go on"},
        "subagent_spawn": {**_OPENCODE, **_OPENCODE_AGENT, "event": "session.created", "text": "Do task 1."},
        "pre_tool_use": {
            **_OPENCODE,
            "event": "tool.execute.before",
            "tool": "task",
            "call": "call_0",
            "args": {"subagent_type": "engineer", "description": "do", "prompt": "Do task 1."},
        },
        "post_tool_use": {
            **_OPENCODE,
            **_OPENCODE_AGENT,
            "event": "tool.execute.after",
            "tool": "edit",
            "call": "call_1",
            "args": {"filePath": "{place}/a.txt", "oldString": "hello", "newString": "hallo"},
            "answer": {"title": "a.txt", "output": "Edit applied successfully.", "metadata": {"diff": "…"}},
        },
        "subagent_complete": {**_OPENCODE, **_OPENCODE_AGENT, "event": "session.idle", "text": "sub done"},
        "context_compact": {**_OPENCODE, "event": "session.compacted"},
        "session_end": {**_OPENCODE, "event": "session.deleted"},
    },
}
# The answer of the tool that a sub-agent of Gemini CLI is.
GEMINI_AGENT_DONE: Payload = {
    **_GEMINI,
    "hook_event_name": "AfterTool",
    "tool_name": "invoke_agent",
    "tool_input": {"agent_name": "engineer", "prompt": "Do task 1."},
    "tool_response": {
        "llmContent": [{"text": "Subagent 'engineer' finished.\nTermination Reason: GOAL\nResult:\nsub done"}],
        "returnDisplay": {
            "isSubagentProgress": True,
            "agentName": "engineer",
            "recentActivity": [
                {
                    "id": "replace__fc_0",
                    "type": "tool_call",
                    "content": "replace",
                    "args": '{"file_path":"{place}/a.txt","old_string":"hello","new_string":"hallo"}',
                    "status": "completed",
                },
                {"id": "x", "type": "tool_call", "content": "write_file", "args": "{", "status": "completed"},
                {
                    "id": "y",
                    "type": "tool_call",
                    "content": "write_file",
                    "args": '{"file_path":"never.txt"}',
                    "status": "error",
                },
            ],
        },
    },
}


def placed(payload: Payload, place: object, **more: object) -> Payload:
    """Return a payload as it comes from a project that lies somewhere."""
    found: Payload = json.loads(json.dumps({**payload, **more}).replace("{place}", json.dumps(str(place))[1:-1]))
    return found
