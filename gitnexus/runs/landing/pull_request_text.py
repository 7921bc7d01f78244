"""The words of a pull request: what was asked, what was done, who approved it, and how anybody can check that."""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.text import one_line
from gitnexus.git.commits import CommitRow
from gitnexus.runs.message import first_line
from gitnexus.runs.model import Run
from gitnexus.runs.verify import Proof


class PullRequest(NamedTuple):
    """Title and body, in Markdown."""

    title: str
    body: str


class Told(NamedTuple):
    """What is known of a run beside its commits: names of approvers by key, and a line for each test run."""

    names: dict[str, str]
    tests: Sequence[str]
    root: str


def written(run: Run, rows: Sequence[CommitRow], proofs: Sequence[Proof], stat: str, told: Told) -> PullRequest:
    """Return the pull request of a run whose commits were proved."""
    done = [f"- {_quoted(first_line(row.message))}" for row in rows]
    who = [
        f"- {_quoted(proof.action)} by {_quoted(told.names.get(proof.approver, proof.approver))}, "
        f"{'unseen, ' if proof.unseen else ''}{row.id[:12]}"
        for row, proof in zip(rows, proofs, strict=True)
    ]
    tests = [f"- {_quoted(line)}" for line in told.tests] or ["None are recorded for this run."]
    verify = f"git nexus verify --require-approval --root {told.root} {run.base[:12]}..{rows[-1].id[:12]}"
    parts = [
        ("What was asked", [_quoted(run.title)]),
        ("What was done", [*done, "", *_fenced(stat)]),
        ("Approvals", who),
        ("Tests", tests),
        ("How to verify", ["```sh", "git fetch origin refs/nexus/state:refs/nexus/state", verify, "```", "",
                           f"Run {run.id}, agent {_quoted(run.agent)}. Merge or rebase it; for a squash use "
                           "`git nexus land --squash`, which keeps the approvals verifiable."]),
    ]  # fmt: skip
    body = "\n\n".join(f"## {title}\n\n" + "\n".join(lines) for title, lines in parts) + "\n"
    return PullRequest(first_line(run.title) or f"Run {run.id}", body)


def _quoted(text: str) -> str:
    """Return words of an agent as code: a mention, a closing keyword, a link or an image in it is nothing but words."""
    plain = one_line(text.strip(), 200).replace("`", "'")
    return f"`{plain}`" if plain else "(nothing)"


def _fenced(text: str) -> list[str]:
    lines = [one_line(line, 200).replace("`", "'") for line in text.strip("\n").split("\n")]
    return ["```text", *lines, "```"] if any(lines) else []
