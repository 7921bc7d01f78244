"""The ledger: one token, one time, whatever happens to processes, files and clocks."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from gitnexus.base.errors import Failed, VerificationFailed
from gitnexus.policy import ledger as module
from gitnexus.policy.ledger import FILE, Ledger
from gitnexus.policy.tokens import TokenClaims
from tests.forked import ForkedPython
from tests.policy.signing import NOW, Scene, scene

SPENDER = """
import sys, json
from datetime import UTC, datetime
from pathlib import Path
from gitnexus.base.errors import VerificationFailed
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.tokens import TokenClaims
claims = TokenClaims.from_value(json.loads(sys.argv[2]), "claims")
ledger = Ledger(Path(sys.argv[1]))
sys.stdin.readline()
try:
    ledger.spend(claims, datetime.now(UTC))
    print("spent")
except VerificationFailed as exc:
    print(exc.message)
"""


@pytest.fixture
def here(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def file_of(tmp_path: Path) -> Path:
    return tmp_path / "nexus" / FILE


def test_of_many_processes_that_spend_one_token_exactly_one_wins(here: Scene, tmp_path: Path) -> None:
    import json

    said = json.dumps(here.claims().plain())
    racers = [ForkedPython(SPENDER, str(tmp_path), said) for _ in range(4)]
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    told = sorted(racer.communicate()[0].strip() for racer in racers)

    assert told == ["spent", "the token is spent", "the token is spent", "the token is spent"]


def test_what_is_spent_stays_spent_for_the_next_process(here: Scene, tmp_path: Path) -> None:
    claims = here.claims()
    here.ledger.spend(claims, NOW)

    with pytest.raises(VerificationFailed, match="is spent"):
        Ledger(tmp_path).spend(claims, NOW)


def test_a_standing_approval_can_be_taken_back(here: Scene) -> None:
    claims = here.claims(scope="session")
    here.ledger.refuse_spent(claims)
    here.ledger._end_token(claims, "void", NOW)  # a line of the format that no command writes today

    with pytest.raises(VerificationFailed, match="taken back"):
        here.ledger.refuse_spent(claims)


def refused(ledger: Ledger, *claims: TokenClaims) -> None:
    for one in claims:
        with pytest.raises(VerificationFailed):
            ledger.spend(one, NOW)


def test_one_line_cut_off_is_put_back_from_the_anchor(here: Scene, tmp_path: Path) -> None:
    first, second, still_open = here.claims(), here.claims(), here.claims()
    here.ledger.spend(first, NOW)
    here.ledger.spend(second, NOW)
    lines = file_of(tmp_path).read_bytes().splitlines(keepends=True)
    file_of(tmp_path).write_bytes(b"".join(lines[:-1]))

    refused(here.ledger, first, second)
    here.ledger.spend(still_open, NOW)


def test_a_write_that_a_crash_cut_short_is_mended(here: Scene, tmp_path: Path) -> None:
    first, still_open = here.claims(), here.claims()
    here.ledger.spend(first, NOW)
    os.truncate(file_of(tmp_path), file_of(tmp_path).stat().st_size - 7)

    refused(here.ledger, first)
    here.ledger.spend(still_open, NOW)
    refused(here.ledger, still_open)


@pytest.mark.parametrize("harm", ["two lines", "all", "gone", "edited", "swapped", "appended", "link", "folder"])
def test_a_ledger_that_was_changed_voids_all_that_is_open(here: Scene, tmp_path: Path, harm: str) -> None:
    spent, still_open = [here.claims() for _ in range(3)], here.claims()
    for one in spent:
        here.ledger.spend(one, NOW)
    file = file_of(tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    if harm == "two lines":
        file.write_bytes(b"".join(lines[:-2]))
    elif harm == "all":
        file.write_bytes(b"")
    elif harm == "edited":
        file.write_bytes(file.read_bytes().replace(spent[0].nonce.encode(), b"0" * 32))
    elif harm == "swapped":
        file.write_bytes(b"".join([lines[0], lines[2], lines[1], lines[3]]))
    elif harm == "appended":
        file.write_bytes(b"".join([*lines, lines[-1]]))
    else:
        file.unlink()
    if harm == "link":
        file.symlink_to(tmp_path / "elsewhere")
    if harm == "folder":
        file.mkdir()
        with pytest.raises(Failed):  # nothing can be written there: nothing is spent, and nothing runs
            here.ledger.spend(still_open, NOW)
        return

    assert here.ledger.trouble() is not None
    refused(here.ledger, *spent, still_open)
    assert here.ledger.trouble() is None
    again = here.claims(ledger=here.ledger.begin(NOW), now=NOW + timedelta(seconds=1))
    here.ledger.spend(again, NOW)
    refused(here.ledger, again)


def test_a_lost_anchor_or_a_lost_home_voids_all_that_is_open(here: Scene, tmp_path: Path, sealed: Path) -> None:
    spent, still_open = here.claims(), here.claims()
    here.ledger.spend(spent, NOW)
    for anchor in (sealed / "nexus" / "ledgers").glob("*.json"):
        anchor.unlink()

    refused(here.ledger, spent, still_open)


def test_an_earlier_copy_of_the_ledger_is_noticed(here: Scene, tmp_path: Path) -> None:
    early = file_of(tmp_path).read_bytes()
    claims = [here.claims() for _ in range(3)]
    for one in claims:
        here.ledger.spend(one, NOW)
    file_of(tmp_path).write_bytes(early)

    refused(here.ledger, *claims)


def test_a_copy_of_the_repository_is_another_place(here: Scene, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path.with_name(tmp_path.name + "-copy")
    shutil.copytree(tmp_path, copy)

    refused(Ledger(copy), here.claims())
    here.ledger.spend(here.claims(), NOW)


def test_a_new_clone_where_an_old_one_was_starts_anew(here: Scene, tmp_path: Path) -> None:
    import shutil

    here.ledger.spend(here.claims(), NOW)
    shutil.rmtree(tmp_path / "nexus")

    refused(here.ledger, here.claims())


def test_what_is_long_expired_is_folded_away_and_the_rest_stays(
    here: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FOLD_AT", 20)
    old = [here.claims() for _ in range(18)]
    for one in old:
        here.ledger.spend(one, NOW)
    later = NOW + timedelta(days=30)
    fresh = [here.claims(now=later) for _ in range(4)]
    for one in fresh:
        here.ledger.spend(one, later)

    assert len(file_of(tmp_path).read_bytes().splitlines()) < 8
    refused(here.ledger, *fresh)
    still_open = here.claims(now=later)
    here.ledger.spend(still_open, later)
    refused(here.ledger, still_open)


def test_a_crash_in_the_middle_of_folding_forgets_nothing(
    here: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FOLD_AT", 5)
    for _ in range(3):
        here.ledger.spend(here.claims(), NOW)
    later = NOW + timedelta(days=30)
    last, still_open = here.claims(now=later), here.claims(now=later)
    real = Ledger._replace
    monkeypatch.setattr(Ledger, "_replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        here.ledger.spend(last, later)
    monkeypatch.setattr(Ledger, "_replace", real)

    assert here.ledger.trouble() is None
    refused(here.ledger, last)
    here.ledger.spend(still_open, later)


def test_a_crash_before_the_line_is_written_leaves_the_token_spent(
    here: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = here.claims()
    real = os.fsync
    calls = []

    def dying(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 3:  # the anchor and its folder are on the disk, the line is not
            raise KeyboardInterrupt
        real(fd)

    monkeypatch.setattr(os, "fsync", dying)
    with pytest.raises(KeyboardInterrupt):
        here.ledger.spend(claims, NOW)
    monkeypatch.setattr(os, "fsync", real)

    refused(here.ledger, claims)
    here.ledger.spend(here.claims(), NOW)
