"""Renders the title and body of a pull request: the task, the commits, their approvers, and how to verify them."""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.text import one_line
from gitnexus.git.commits import CommitRow
from gitnexus.policy.commit_message import first_line
from gitnexus.runs.landing.verify_commit import Proof
from gitnexus.runs.model import Run


class PullRequest(NamedTuple):
    """Title and body in Markdown."""

    title: str
    body: str


class PullRequestFacts(NamedTuple):
    """Facts about a run besides its commits: approvers' names by key, and a line per test run."""

    names: dict[str, str]
    tests: Sequence[str]
    root: str


def render_pull_request(
    run: Run, rows: Sequence[CommitRow], proofs: Sequence[Proof], stat: str, facts: PullRequestFacts
) -> PullRequest:
    """Return the pull request of a run with verified commits."""
    done = [f"- {_as_inline_code(first_line(row.message))}" for row in rows]
    who = [
        f"- {_as_inline_code(proof.action)} by {_as_inline_code(facts.names.get(proof.approver, proof.approver))}, "
        f"{'unseen, ' if proof.unseen else ''}{row.id[:12]}"
        for row, proof in zip(rows, proofs, strict=True)
    ]
    tests = [f"- {_as_inline_code(line)}" for line in facts.tests] or ["None are recorded for this run."]
    verify = f"git nexus verify --require-approval --root {facts.root} {run.base[:12]}..{rows[-1].id[:12]}"
    parts = [
        ("What was asked", [_as_inline_code(run.title)]),
        ("What was done", [*done, "", *_as_code_block(stat)]),
        ("Approvals", who),
        ("Tests", tests),
        (
            "How to verify",
            [
                "```sh",
                "git fetch origin refs/nexus/state:refs/nexus/state",
                verify,
                "```",
                "",
                f"Run {run.id}, agent {_as_inline_code(run.agent)}. Merge or rebase it; for a squash use "
                "`git nexus land --squash`, which keeps the approvals verifiable.",
            ],
        ),
    ]
    body = "\n\n".join(f"## {title}\n\n" + "\n".join(lines) for title, lines in parts) + "\n"
    return PullRequest(first_line(run.title) or f"Run {run.id}", body)


def _as_inline_code(text: str) -> str:
    """Return an agent's text as inline code, so that mentions, closing keywords, links and images have no effect."""
    plain = one_line(text.strip(), 200).replace("`", "'")
    return f"`{plain}`" if plain else "(nothing)"


def _as_code_block(text: str) -> list[str]:
    lines = [one_line(line, 200).replace("`", "'") for line in text.strip("\n").split("\n")]
    return ["```text", *lines, "```"] if any(lines) else []
