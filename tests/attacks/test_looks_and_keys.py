"""What only looks right: names beside each other, long warnings, times to come, open folders and versions."""

import itertools
import json
import os
import re
import time
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitnexus import __version__
from gitnexus.base.errors import Failed, VerificationFailed
from gitnexus.base.homoglyphs import Suspicion, lookalike_names
from gitnexus.gateway.card_warnings import format_warnings
from gitnexus.policy import keys
from gitnexus.policy.grant_store import GrantStore, grant_digest
from gitnexus.policy.grants import ApprovalGrant
from gitnexus.policy.passphrase import read_passphrase
from gitnexus.policy.tokens import TokenClaims, issue_token, verify_token
from gitnexus.runs.agent.tools import call_run_tool
from tests.conftest import Nexus, run_git
from tests.runs.begun import begun as begun_run
from tests.runs.live import begun, typed

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("new", "beside"),
    [
        pytest.param("src/раyment.py", "src/payment.py", id="cyrillic"),
        pytest.param("sгc/main.py", "src", id="cyrillic like r"),
        pytest.param("src/payrnent.py", "src/payment.py", id="r and n for m"),
        pytest.param("src/Payment.py", "src/payment.py", id="another case"),
        pytest.param("src/uti1s.py", "src/utils.py", id="one for l"),
        pytest.param("src/pay\u200bment.py", "src/payment.py", id="a space of no width"),
        pytest.param("src/ｐayment.py", "src/payment.py", id="full width"),
        pytest.param("a‐b.py", "a-b.py", id="another hyphen"),
    ],
)
def test_a_file_name_that_looks_like_another_beside_it_is_flagged(new: str, beside: str) -> None:
    (doubt,) = lookalike_names([new], [beside, "src/other.py"])

    assert beside in doubt.reason


def test_names_that_differ_or_lie_elsewhere_are_not_flagged() -> None:
    present = ["src/payment.py", "tests/payment.py", "src/test_a.py"]

    assert lookalike_names(["src/payments.py", "docs/payment.py", "src/test_b.py"], present) == []


def test_a_card_flags_a_new_file_beside_one_that_it_looks_like(nexus: Nexus, project: Path) -> None:
    (project / "payment.py").write_text("x = 1\n")
    run_git(project, "add", "payment.py")
    run_git(project, "commit", "-qm", "payment")

    nexus("run", "--", "sh", "-c", "echo 'x = 2' > раyment.py")

    assert re.search(r"look twice: раyment.py: looks like\s+(│ |┆ )?payment.py", nexus("review").stdout)


def test_a_folder_that_looks_like_the_one_beside_it_is_flagged(nexus: Nexus, project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "main.py").write_text("x = 1\n")
    run_git(project, "add", "src")
    run_git(project, "commit", "-qm", "src")

    nexus("run", "--", "sh", "-c", "mkdir ѕrc && echo 'x = 2' > ѕrc/main.py && mkdir new && echo 1 > new/main.py")

    shown = nexus("review").stdout
    assert "look twice: ѕrc: looks like src beside it" in shown
    assert shown.count("looks like") == 1


def test_a_name_of_mixed_scripts_is_flagged_where_nothing_beside_it_looks_like_it(nexus: Nexus, project: Path) -> None:
    mixed, honest = r"$(printf 'to\320\276ls')", r"$(printf 'na\303\257ve_\320\264\320\260.txt')"
    made = f"mkdir {mixed}; echo 1 > {mixed}/a.py; echo 2 > {honest}"

    nexus("run", "--", "sh", "-c", made)

    run = json.loads(nexus.ok("runs", "--json"))["runs"][0]["id"]
    for shown in (nexus("review", run).stdout, nexus("diff", run).stdout):
        assert "look twice: toоls: mixes Latin and Cyrillic letters" in shown
        assert shown.count("look twice") == 1


def test_a_name_with_a_sign_like_a_slash_is_flagged() -> None:
    assert [one.word for one in lookalike_names(["src∕main.py", "a/b.py"], ["src"])] == ["src∕main.py"]


def test_names_that_look_alike_are_one_line_a_group_and_bury_no_other() -> None:
    decoys = [f"A/x{''.join(letters)}" for letters in itertools.product("l1I", repeat=6)]

    began = time.monotonic()
    doubts = lookalike_names([*decoys, "ca1c.py"], [*decoys, "calc.py", "ca1c.py", "A"])

    assert time.monotonic() - began < 0.5
    assert doubts[0] == ("ca1c.py", "looks like calc.py beside it")
    assert (doubts[1].word, len(doubts)) == ("A/xllllll", 2)
    assert doubts[1].reason.endswith("and 699 more beside it, 729 names that look alike")
    assert len(doubts[1].reason) < 1000


def test_groups_of_names_that_do_not_fit_are_counted_and_need_v(nexus: Nexus, project: Path) -> None:
    for number in range(12):
        (project / f"cal{chr(97 + number)}.py").write_text("x = 1\n")
    run_git(project, "add", ".")
    run_git(project, "commit", "-qm", "files")
    script = "for x in a b c d e f g h i j k l; do : > ca1$x.py; done"
    run = begun(nexus, script)

    drawn = typed(project, "y\nq", "git-nexus", "review", run)[1]
    whole = nexus("review", run).stdout

    assert "2 more lines are folded; v shows all of it" in drawn
    assert "not yet: 2 lines of what to look at twice" in drawn
    assert (whole.count("look twice: ca1"), whole.count("folded")) == (12, 0)


def test_what_to_look_at_twice_is_counted_where_it_does_not_fit() -> None:
    doubts = [Suspicion(f"word{number}", "mixes letters") for number in range(2100)]

    shown = format_warnings(doubts)

    assert shown[0] == "word0: mixes letters"
    assert (len(shown), shown[-1]) == (2001, "100 more like these, which do not fit here")
    assert format_warnings(doubts[:10]) == tuple(f"word{number}: mixes letters" for number in range(10))


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"argv": ["echo", "a\u202eb"]}, id="a word"),
        pytest.param({"argv": ["sh", "-s"], "stdin": "echo a\u202eb\n"}, id="standard input"),
    ],
)
def test_a_command_tells_of_characters_that_are_not_seen(nexus: Nexus, project: Path, given: dict[str, Any]) -> None:
    with begun_run(project) as desk:
        call_run_tool(desk, "propose_command", {"summary": "plain", **given})

        assert "look twice: a\\u202eb: has invisible characters" in nexus("review", desk.record.id).stdout


def test_diff_tells_what_to_look_at_twice_before_it_counts_as_shown(nexus: Nexus, project: Path) -> None:
    run_git(project, "mv", "readme.txt", "calc.py")
    run_git(project, "commit", "-qm", "calc")
    run = begun(nexus, "printf 'x = \\342\\200\\256evil\\n' > ca1c.py")

    shown = nexus("diff", run).stdout

    assert "# look twice: ca1c.py: looks like calc.py beside it\n" in shown
    assert "# look twice: \\u202eevil: has invisible characters\n" in shown


class _Trusts:
    project = "p1"

    def __init__(self, public: str) -> None:
        self._public = public

    def public_of(self, _key: str) -> str:
        return self._public


class _Book:
    def refuse_spent(self, claims: TokenClaims) -> None:
        """Nothing is spent."""

    def spend(self, claims: TokenClaims, now: datetime) -> None:
        """Nothing is burned."""


def _grant(issued: datetime) -> tuple[ApprovalGrant, TokenClaims]:
    grant = ApprovalGrant(scope="session", kind="command", project="p1", expires="2026-06-01T00:00:00Z")
    signer, _ = keys.make_own_key()
    at = int(issued.timestamp() * 1000)
    return grant, TokenClaims(
        project="p1", run="r1", action="a1", kind="command", mode="default", request=grant_digest(grant), base="",
        session="s1", workflow="", scope="session", ledger="l1", approver=signer.key_id, issued=at,
        expires=at + 3_600_000, nonce="ab" * 16,
    )  # fmt: skip


@pytest.mark.parametrize(("ahead", "holds"), [(timedelta(0), True), (timedelta(hours=2), False)])
def test_a_grant_from_the_future_does_not_hold(tmp_path: Path, ahead: timedelta, holds: bool) -> None:
    grant, claims = _grant(NOW + ahead)
    signer = keys.own_signer()
    grants = GrantStore(tmp_path)
    grants.keep(grant, claims, issue_token(claims, signer))

    found = grants.holding(_Trusts(signer.public), _Book(), NOW)

    assert bool(found) == holds


def test_a_token_from_the_future_proves_nothing_in_history() -> None:
    _, claims = _grant(NOW + timedelta(hours=2))
    signer = keys.own_signer()
    token = issue_token(claims, signer)

    assert verify_token(token, _Trusts(signer.public), NOW + timedelta(hours=3)) == claims
    with pytest.raises(VerificationFailed, match="future"):
        verify_token(token, _Trusts(signer.public), NOW)


def test_a_key_can_be_encrypted_and_signs_only_with_its_passphrase(
    nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer, _ = keys.make_own_key()
    secret = tmp_path / "passphrase"
    secret.write_text("correct horse\n")
    secret.chmod(0o600)
    monkeypatch.setenv("NEXUS_KEY_PASSPHRASE_FILE", str(secret))

    said = json.loads(nexus.ok("approver", "encrypt", "--json"))

    assert said["encrypted"] is True
    assert b"ENCRYPTED" in (keys.keys_folder() / "approver.pem").read_bytes()
    assert os.stat(keys.keys_folder() / "approver.pem").st_mode & 0o777 == 0o600
    keys.verify_signature(signer.public, b"text", keys.own_signer().sign(b"text"))
    read_passphrase.cache_clear()
    secret.write_text("wrong\n")
    with pytest.raises(Failed, match="cannot be decrypted with that passphrase"):
        keys.own_signer().sign(b"text")
    secret.chmod(0o644)
    with pytest.raises(Failed, match="read by others"):
        keys.own_signer().sign(b"text")


def test_a_program_may_be_asked_and_an_encrypted_key_opens_again(
    nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer, _ = keys.make_own_key()
    asks = tmp_path / "ask"
    asks.write_text("#!/bin/sh\necho correct horse\n")
    asks.chmod(0o700)
    monkeypatch.setenv("NEXUS_ASKPASS", str(asks))

    nexus.ok("approver", "encrypt")
    assert b"ENCRYPTED" in (keys.keys_folder() / "approver.pem").read_bytes()
    nexus.ok("approver", "encrypt", "--remove")

    assert b"ENCRYPTED" not in (keys.keys_folder() / "approver.pem").read_bytes()
    keys.verify_signature(signer.public, b"text", keys.own_signer().sign(b"text"))


def test_the_home_and_its_folders_are_for_nobody_else(nexus: Nexus, project: Path) -> None:
    home = Path(os.environ["NEXUS_HOME"])
    nexus("run", "--", "sh", "-c", "echo hi > new.txt")
    nexus("status")

    folders = [home, *(path for path in home.iterdir() if path.is_dir())]

    assert [str(path) for path in folders if path.stat().st_mode & 0o777 != 0o700] == []


def test_doctor_closes_a_home_that_is_open(nexus: Nexus, project: Path) -> None:
    home = Path(os.environ["NEXUS_HOME"])
    home.chmod(0o755)
    (home / "cache").mkdir(exist_ok=True)
    (home / "cache").chmod(0o755)

    assert "other users can read" in nexus("doctor").stdout
    nexus("doctor", "--fix")

    assert [path.stat().st_mode & 0o777 for path in (home, home / "cache")] == [0o700, 0o700]


def test_init_says_that_a_home_is_open_and_what_closes_it(nexus: Nexus, project: Path) -> None:
    home = Path(os.environ["NEXUS_HOME"])
    home.chmod(0o755)

    said = nexus.ok("init")
    nexus("doctor", "--fix")

    assert f"note: other users can read {home}: git nexus doctor --fix makes it private" in said
    assert "other users can read" not in nexus.ok("init")


def test_init_closes_a_home_at_its_usual_place(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEXUS_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    home = tmp_path / "data" / "git-nexus"
    home.mkdir(parents=True, mode=0o755)

    said = nexus.ok("init")

    assert f"made {home} private" in said
    assert home.stat().st_mode & 0o777 == 0o700


def test_every_dependency_of_the_wheel_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [row for name, rows in project["optional-dependencies"].items() if name != "dev" for row in rows]

    assert [row for row in (*project["dependencies"], *extras) if "<" not in row] == []


_INSTALLS = re.compile(r"install '?git-nexus")


def test_the_pages_install_a_pinned_version() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    lines = [line for page in pages for line in page.read_text().splitlines() if _INSTALLS.search(line)]

    assert lines
    assert any("[baml]" in line for line in lines)
    assert [line for line in lines if not re.search(rf"git-nexus(\[\w+\])?=={re.escape(__version__)}\b", line)] == []


def test_a_config_that_the_environment_names_chooses_no_key(
    project: Path, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = nexus.ok("approver", "list")
    config = tmp_path / "config"
    config.write_text("[nexus]\n\tsigningKey = ssh-ed25519 AAAA\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))

    assert nexus.ok("approver", "list") == before
