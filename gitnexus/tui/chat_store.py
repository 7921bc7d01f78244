"""What the chat keeps between two terminals: the end of the conversation, what was typed, the draft, open proposals.

All of it lies in `<git-common-dir>/nexus/chat`, which no agent reaches, masked, and bounded.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from gitnexus.base.files import make_private_folder, replace
from gitnexus.redaction import mask
from gitnexus.tui.history import MOST, History
from gitnexus.tui.model import Entry

MOST_ENTRIES = 400
_LONGEST = 4000
_LARGEST = 4 * 1024 * 1024
_KEPT = ("you", "nexus", "error")
_FOLDER = Path("nexus") / "chat"
_CONVERSATION = "conversation.jsonl"


class Keeper:
    """Reads and writes the files. What cannot be written is not missed before the next terminal."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = common_dir / _FOLDER

    def history(self) -> History:
        """Return what was typed before."""
        found = self._json("history.json")
        return History.of(tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ())

    def keep_history(self, history: History) -> None:
        """Keep what was typed."""
        self._write("history.json", [mask(text) for text in history.past[-MOST:]])

    def draft(self) -> str:
        """Return what was being typed when the terminal closed."""
        found = self._json("draft.json")
        return found if isinstance(found, str) else ""

    def keep_draft(self, text: str) -> None:
        """Keep what is being typed."""
        self._write("draft.json", mask(text[:65536]))

    def entries(self) -> list[Entry]:
        """Return the end of the conversation, and let go of what is before that."""
        path, rows = self.folder / _CONVERSATION, []
        with contextlib.suppress(OSError):
            for line in path.read_bytes().split(b"\n")[-MOST_ENTRIES - 1 :]:
                with contextlib.suppress(ValueError):
                    rows.append(json.loads(line))
            if path.stat().st_size > _LARGEST:
                kept = b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)
                replace(path, kept, 0o600)
        return [Entry(*row) for row in rows if _is_entry(row)]

    def add(self, entry: Entry) -> None:
        """Keep one more entry; what agents said is in the logs of their runs."""
        if entry.speaker not in _KEPT:
            return
        row = json.dumps([entry.speaker, mask(entry.text[:_LONGEST]), entry.run], ensure_ascii=False)
        with contextlib.suppress(OSError):
            make_private_folder(self.folder)
            fd = os.open(self.folder / _CONVERSATION, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "ab") as file:
                file.write(row.encode("utf-8", "replace") + b"\n")

    def proposals(self) -> dict[str, Any]:
        """Return the workflows that were proposed and not decided."""
        found = self._json("proposals.json")
        return found if isinstance(found, dict) else {}

    def keep_proposals(self, proposals: dict[str, Any]) -> None:
        """Keep the workflows that wait for a yes."""
        self._write("proposals.json", proposals)

    def _json(self, name: str) -> Any:
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self.folder / name).read_bytes())
        return None

    def _write(self, name: str, value: Any) -> None:
        with contextlib.suppress(OSError):
            make_private_folder(self.folder)
            replace(self.folder / name, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), 0o600)


def _is_entry(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(isinstance(one, str) for one in row) and row[0] in _KEPT
