"""Let an agent fix a bug in a scratch repository, approve, land and verify the fix, and draw the terminal as run.svg.

`python docs/picture/draw.py` writes the picture; a slow test compares it with what the commands print now. The agent is
a script, so no model and no network is needed. Run ids, digests, the home folder and the level of the sandbox differ
from one machine to the next; they are replaced by fixed ones of the same form.
"""

import hashlib
import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

PICTURE = Path(__file__).with_name("run.svg")
SET_UP = """
git init --quiet calc && cd calc
printf 'def add(a, b):\\n    return a - b\\n' > calc.py
cat > fix.json <<'STEPS'
{"steps": [
  {"do": "say", "text": "add() subtracts. I change the sign."},
  {"do": "write", "path": "calc.py", "text": "def add(a, b):\\n    return a + b\\n"}
]}
STEPS
git add . && git commit --quiet -m "calc, which cannot add"
git nexus init > /dev/null
"""
# What is typed, in this order; `RUN` stands for the run that the first command started.
COMMANDS = (
    'git nexus run --agent scripted fix.json "Make add() add"',
    "git nexus land RUN",
    "git nexus verify --require-approval HEAD^..HEAD",
)
RUN, FIXED_RUN = re.compile(r"\b\d{6}-\d{4}-[0-9a-z]{8}\b"), "261116-1503-k7fb2m9q"
DIGEST = re.compile(r"\b[0-9a-f]{7,64}\b")
COLUMNS, LETTER, ROW, EDGE = 100, 7.8, 18, 16
COLOURS = (
    (re.compile(r"^\$ "), "prompt"),
    (re.compile(r"^│ \+(?!\+)"), "added"),
    (re.compile(r"^│ -(?!-)"), "removed"),
    (re.compile(r"^[┌└│]"), "card"),
    (re.compile(r"^Approve\?"), "question"),
)


def record_session() -> list[str]:
    """Return the lines that a terminal shows while COMMANDS are typed, with what differs each time replaced."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve() / "home"
        (home / "calc").mkdir(parents=True)
        environment = make_environment(home)
        subprocess.run(["sh", "-euc", SET_UP], cwd=home, env=environment, check=True)
        lines: list[str] = []
        run = ""
        for command in COMMANDS:
            output = run_in_terminal(command.replace("RUN", run), home / "calc", environment)
            lines += [f"$ {command.replace('RUN', run)}", *output.rstrip("\n").split("\n"), ""]
            started = RUN.search(output)
            run = started[0] if started else run
        return normalise("\n".join(lines[:-1]).replace(str(home), "~")).split("\n")


def make_environment(home: Path) -> dict[str, str]:
    """Return an environment in which git and git nexus see nothing but `home`."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n", encoding="utf-8"
    )
    return {
        "PATH": programs,
        "HOME": str(home),
        "NEXUS_HOME": str(home / ".local" / "share" / "git-nexus"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": str(COLUMNS),
    }


def run_in_terminal(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a command on a terminal, type y at its question, and return what the terminal shows."""
    terminal, inside = pty.openpty()
    child = subprocess.Popen(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    shown, answered = b"", False
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux reports the end of the other side as an error
            break
        if not piece:
            break
        shown += piece
        if not answered and b"Approve?" in shown:
            os.write(terminal, b"y\n")
            answered = True
    os.close(terminal)
    text = shown.decode().replace("\r\n", "\n")
    if child.wait() != 0:
        raise SystemExit(f"{command} failed:\n{text}")
    return text


def normalise(text: str) -> str:
    """Return `text` with fixed run id, digests and level; a short digest stays the beginning of its long form."""
    text = re.sub(r"\bL[0-3]\b", "L2", RUN.sub(FIXED_RUN, text))
    fixed: dict[str, str] = {}
    in_order = [digest for digest in dict.fromkeys(DIGEST.findall(text)) if digest not in FIXED_RUN]
    for digest in sorted(in_order, key=len, reverse=True):
        longer = next((known for known in fixed if known.startswith(digest)), None)
        new = fixed[longer] if longer else hashlib.sha256(str(len(fixed)).encode()).hexdigest()
        fixed[digest] = new[: len(digest)]
    return DIGEST.sub(lambda match: fixed.get(match[0], match[0]), text)


def draw(lines: list[str]) -> str:
    """Return an SVG of a terminal that shows `lines`."""
    width, height = round(COLUMNS * LETTER + 2 * EDGE), len(lines) * ROW + 2 * EDGE
    rows = [
        f'<text class="{colour_of(line)}" x="{EDGE}" y="{EDGE + ROW * number - 5}">{escape(line, quote=False)}</text>'
        for number, line in enumerate(lines, 1)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' xml:space="preserve">',
            "<style>",
            "text { font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }",
            ".plain { fill: #d0d4da } .prompt { fill: #ffffff; font-weight: bold } .card { fill: #9aa4b2 }",
            ".added { fill: #7ee787 } .removed { fill: #ff9492 } .question { fill: #f2cc60; font-weight: bold }",
            "</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>',
            *rows,
            "</svg>\n",
        ]
    )


def colour_of(line: str) -> str:
    """Return the class of the style that a line is drawn in."""
    return next((name for pattern, name in COLOURS if pattern.search(line)), "plain")


if __name__ == "__main__":
    PICTURE.write_text(draw(record_session()), encoding="utf-8")
