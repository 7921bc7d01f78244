"""Stores chat data between sessions: the end of the conversation, the input history, the draft, open proposals.

All of it is in `<git-common-dir>/nexus/chat`, which no agent can reach; it is masked and limited in size.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.redaction import mask
from gitnexus.tui.history import MOST, InputHistory
from gitnexus.tui.model import ChatEntry

MOST_ENTRIES = 400
_LONGEST = 4000
_LARGEST = 4 * 1024 * 1024
_KEPT = ("you", "nexus", "error")
_FOLDER = Path("nexus") / "chat"
_CONVERSATION = "conversation.jsonl"


class ChatStore:
    """Reads and writes the files. Write errors are ignored: they cost only the restored conversation."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = common_dir / _FOLDER

    def history(self) -> InputHistory:
        """Return the input history."""
        found = self._read_json("history.json")
        return InputHistory.of(tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ())

    def keep_history(self, history: InputHistory) -> None:
        """Store the input history."""
        self._write_json("history.json", [mask(text) for text in history.past[-MOST:]], durable=False)

    def draft(self) -> str:
        """Return the unfinished input of the last session."""
        found = self._read_json("draft.json")
        return found if isinstance(found, str) else ""

    def keep_draft(self, text: str) -> None:
        """Store the unfinished input."""
        self._write_json("draft.json", mask(text[:65536]), durable=False)

    def entries(self) -> list[ChatEntry]:
        """Return the end of the conversation, and delete what is older."""
        path, rows = self.folder / _CONVERSATION, []
        with contextlib.suppress(OSError):
            for line in path.read_bytes().split(b"\n")[-MOST_ENTRIES - 1 :]:
                with contextlib.suppress(ValueError):
                    rows.append(json.loads(line))
            if path.stat().st_size > _LARGEST:
                kept = b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)
                replace_file(path, kept, 0o600)
        return [ChatEntry(*row) for row in rows if _is_stored_entry(row)]

    def add(self, entry: ChatEntry) -> None:
        """Store one more entry; messages of agents are in the logs of their runs."""
        if entry.speaker not in _KEPT:
            return
        row = json.dumps([entry.speaker, mask(entry.text[:_LONGEST]), entry.run], ensure_ascii=False)
        with contextlib.suppress(OSError):
            make_private_folder(self.folder)
            fd = os.open(self.folder / _CONVERSATION, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "ab") as file:
                file.write(row.encode("utf-8", "replace") + b"\n")

    def proposals(self) -> dict[str, Any]:
        """Return the proposed workflows that were not decided."""
        found = self._read_json("proposals.json")
        return found if isinstance(found, dict) else {}

    def keep_proposals(self, proposals: dict[str, Any]) -> None:
        """Store the workflows that wait for an approval."""
        self._write_json("proposals.json", proposals, durable=True)

    def _read_json(self, name: str) -> Any:
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self.folder / name).read_bytes())
        return None

    def _write_json(self, name: str, value: Any, *, durable: bool) -> None:
        with contextlib.suppress(OSError):
            make_private_folder(self.folder)
            raw = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            replace_file(self.folder / name, raw, 0o600, durable=durable)


def _is_stored_entry(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(isinstance(one, str) for one in row) and row[0] in _KEPT
