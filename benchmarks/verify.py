"""A thousand approved commits verified, beside reading their messages and checking as many bare signatures."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from measure import Ratio, compare
from tokens import Key

from gitnexus.git import Author, discover
from gitnexus.git.commits import CommitRange, iterate_commits
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import PrivateGit
from gitnexus.git.private import private_git as private_private_git
from gitnexus.policy.approvers import Approvers, start_chain
from gitnexus.policy.commit_message import Trailers, format_commit_message
from gitnexus.policy.tokens import ExpectedAction, issue_token, make_claims
from gitnexus.runs.landing.verify_range import prove_commits

COMMITS = 1000
PROJECT = "0123456789abcdef"
RUN = "261116-1503-k7fb"


def git(place: Path, *argv: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", *argv], cwd=place, input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def trees(place: Path) -> list[str]:
    """The trees of a history in which every commit changes one file of twenty."""
    stream, files = [], {}
    for at in range(COMMITS + 1):
        name = f"file{at % 20}.txt"
        files[name] = "".join(f"line {n} of {at if n == 15 else 0}\n" for n in range(30)).encode()
        stream.append(b"commit refs/heads/made\ncommitter a <a@b> %d +0000\ndata 1\nx\n" % (1_700_000_000 + at))
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(files[name]), files[name]))
    git(place, "fast-import", "--quiet", stdin=b"".join(stream))
    return git(place, "log", "--reverse", "--format=%T", "made").split()


def history(place: Path, key: Key, ids: dict[tuple[str, str], str], made: list[str], rebased: bool) -> str:
    """Commits whose tokens are bound by their trees, or after a rebase only by what they change."""
    moment, stream, ref = datetime.now(UTC), [], "moved" if rebased else "straight"
    for at, (old, new) in enumerate(pairwise(made)):
        other = "0" * 40
        expected = ExpectedAction(project=PROJECT, run=RUN, action=f"a{at}", kind="patch", request="sha256:" + "1" * 64,
                            mode="default", base=other if rebased else old, result=other if rebased else new,
                            patch_id=ids[old, new])  # fmt: skip
        claims = make_claims(
            expected, scope="once", ledger="x", approver=key.key_id, now=moment, lasts=timedelta(hours=1)
        )
        text = format_commit_message(
            "a step", "", Trailers(RUN, (f"a{at}",), "bench", (issue_token(claims, key),))
        ).encode()
        who = Author("bench", "bench@localhost", 1_700_000_000 + at).ident.encode()
        parent = b"" if at else b"from refs/heads/start^0\n"
        stream.append(b"commit refs/heads/%s\ncommitter %s\n" % (ref.encode(), who))
        stream.append(b"data %d\n%s%s" % (len(text), text, parent))
        stream.append(b'M 040000 %s ""\n' % new.encode())
    git(place, "fast-import", "--quiet", stdin=b"".join(stream))
    return git(place, "rev-parse", ref)


def verified(private_git: PrivateGit, tip: str, start: str, approvers: Approvers) -> None:
    proofs = list(prove_commits(private_git, iterate_commits(private_git, CommitRange(tip, (start,))), approvers))
    assert len(proofs) == COMMITS, len(proofs)
    assert all(proof.status == "approved" for proof in proofs), proofs[0]


def ratios() -> Iterator[Ratio]:
    key = Key()
    approvers = start_chain(PROJECT, "bench", key, datetime.now(UTC))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NEXUS_HOME"] = str(Path(folder, "home"))
        place = Path(folder, "repo")
        place.mkdir()
        git(place, "init", "-q")
        made = trees(place)
        start = git(place, "rev-list", "--max-parents=0", "made")
        git(place, "update-ref", "refs/heads/start", start)
        git(place, "symbolic-ref", "HEAD", "refs/heads/start")
        repo = discover(place)
        with private_private_git(repo) as quiet, patch_ids(quiet) as asked:
            ids = {pair: asked.of(*pair) for pair in pairwise(made)}
        straight, moved = (history(place, key, ids, made, rebased) for rebased in (False, True))
        git(place, "gc", "-q")
        signature, public = key.sign(b"x" * 700), key.private.public_key()

        def bare() -> None:
            git(place, "log", "--format=%B", straight)
            for _ in range(COMMITS):
                public.verify(signature, b"x" * 700)

        def ours(tip: str) -> None:
            with private_private_git(repo) as quiet:
                verified(quiet, tip, start, approvers)

        yardstick = f"git log --format=%B and {COMMITS} bare Ed25519 checks"
        yield compare(f"{COMMITS} approved commits verified", lambda: ours(straight), yardstick, bare, 5.0, 5)
        yield compare(f"{COMMITS} rebased commits verified", lambda: ours(moved), yardstick, bare, 6.0, 5)
