"""A tool server on stdin and stdout with one tool, propose_patch; what it is given is appended to the file named."""

import json
import sys
from pathlib import Path
from typing import Any

TOOL = {
    "name": "propose_patch",
    "description": "Propose a change.",
    "inputSchema": {"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]},
}


def answer(message: dict[str, Any], log: Path) -> dict[str, Any] | None:
    """Return the result of a request, or None for a method that is not known."""
    params = message.get("params") or {}
    match message.get("method"):
        case "initialize":
            told = {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}}
            return {**told, "serverInfo": {"name": "nexus", "version": "0"}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(params) + "\n")
            failed = params.get("name") != "propose_patch"
            return {"content": [{"type": "text", "text": "no such tool" if failed else "it waits"}], "isError": failed}
        case "ping":
            return {}
    return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message, Path(sys.argv[1]))
            unknown = {"error": {"code": -32601, "message": "no such method"}}
            told = {"jsonrpc": "2.0", "id": message["id"], **({"result": result} if result is not None else unknown)}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
