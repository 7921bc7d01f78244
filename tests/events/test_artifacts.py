"""Artifacts: the same bytes once, never another's, never a path."""

import os
from pathlib import Path

import pytest

from gitnexus.base.errors import Failed, Invalid, NotFound, VerificationFailed
from gitnexus.events import Artifacts
from gitnexus.events.artifacts import LARGEST
from gitnexus.events.model import sha256_digest


def test_what_was_written_is_read_by_its_digest_and_kept_once(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path)

    first, second = kept.write("out.log", b"hello"), kept.write("same.log", b"hello")

    assert (first.name, first.digest, first.size) == ("out.log", sha256_digest(b"hello"), 5)
    assert second.digest == first.digest
    assert kept.read(first.digest) == b"hello"
    assert os.listdir(kept.folder) == [first.digest[7:]]


def test_an_empty_artifact_is_one_too(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path)

    assert kept.read(kept.write("nothing", b"").digest) == b""


def test_a_swapped_artifact_is_never_returned_and_writing_it_again_mends_it(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path)
    ref = kept.write("x.diff", b"approved")
    path = kept.folder / ref.digest[7:]

    path.write_bytes(b"something else")
    with pytest.raises(VerificationFailed, match="holds something else"):
        kept.read(ref.digest)
    kept.write("x.diff", b"approved")

    assert kept.read(ref.digest) == b"approved"


def test_a_link_or_a_pipe_in_the_place_of_an_artifact_is_not_read(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path)
    ref = kept.write("x", b"bytes")
    path = kept.folder / ref.digest[7:]
    (tmp_path / "target").write_bytes(b"bytes")

    path.unlink()
    path.symlink_to(tmp_path / "target")
    with pytest.raises(VerificationFailed):
        kept.read(ref.digest)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(VerificationFailed):
        kept.read(ref.digest)


@pytest.mark.parametrize(
    "word", ["../../etc/passwd", "sha256:../x", "sha256:" + "A" * 64, "", "sha256:" + "a" * 64 + "\n"]
)
def test_what_is_no_digest_is_no_path(tmp_path: Path, word: str) -> None:
    with pytest.raises(Invalid, match="not the digest"):
        Artifacts(tmp_path).read(word)


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Artifacts(tmp_path).read("sha256:" + "a" * 64)
    assert Artifacts(tmp_path).names() == []


def test_what_is_too_large_or_has_no_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="larger than 16 MiB"):
        Artifacts(tmp_path).write("big", b"\0" * (LARGEST + 1))
    with pytest.raises(Invalid, match="name"):
        Artifacts(tmp_path).write("", b"")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_no_half_artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(Failed, match="No space left"):
        Artifacts(tmp_path).write("x", b"bytes")
    assert os.listdir(tmp_path / "artifacts") == []
