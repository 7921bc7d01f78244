"""Keys: made once, guarded, and by SSH where the user wants that."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gitnexus.base.errors import Failed, Invalid, NotFound, VerificationFailed
from gitnexus.git import discover
from gitnexus.policy.keys import (
    key_id,
    make_own_key,
    normalize_public_key,
    own_signer,
    verify_signature,
    why_key_unusable,
)
from gitnexus.policy.sshkeys import SshSigner
from gitnexus.policy.trust import signer_for_repo
from tests.conftest import run_git
from tests.policy.signing import Key

needs_ssh = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None,
    reason="there is no ssh-keygen on PATH: install OpenSSH, apt install openssh-client",
)


def folder(sealed: Path) -> Path:
    return sealed / "nexus" / "keys"


def test_the_key_is_made_for_its_owner_alone_and_only_once(sealed: Path) -> None:
    old = os.umask(0)
    try:
        first, made = make_own_key()
    finally:
        os.umask(old)
    raw = (folder(sealed) / "approver.pem").read_bytes()
    second, again = make_own_key()

    assert (made, again) == (True, False)
    assert second.public == first.public
    assert (folder(sealed) / "approver.pem").read_bytes() == raw
    assert stat.S_IMODE(folder(sealed).stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in sorted(folder(sealed).iterdir())] == [0o600, 0o600]
    verify_signature(first.public, b"x", second.sign(b"x"))


def test_two_processes_make_one_key(sealed: Path) -> None:
    argv = [sys.executable, "-c", "from gitnexus.policy.keys import make_own_key; print(make_own_key()[0].public)"]
    racers = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]

    assert len({racer.communicate()[0] for racer in racers}) == 1
    assert sorted(os.listdir(folder(sealed))) == ["approver.pem", "approver.pub"]


@pytest.mark.parametrize(("name", "mode", "words"), [("approver.pem", 0o640, "chmod 600"), (".", 0o755, "chmod 700")])
def test_a_key_that_others_can_read_is_not_used(sealed: Path, name: str, mode: int, words: str) -> None:
    signer, _ = make_own_key()
    (folder(sealed) / name).chmod(mode)

    with pytest.raises(Failed) as refused:
        signer.sign(b"x")
    assert (refused.value.fix or "").startswith(words)
    assert why_key_unusable() is not None


def test_a_link_in_place_of_the_key_is_not_followed(sealed: Path) -> None:
    signer, _ = make_own_key()
    (folder(sealed) / "approver.pem").rename(sealed / "elsewhere.pem")
    (folder(sealed) / "approver.pem").symlink_to(sealed / "elsewhere.pem")

    with pytest.raises(Failed, match="cannot be read"):
        signer.sign(b"x")


def test_a_key_that_was_exchanged_or_is_gone_signs_nothing(sealed: Path) -> None:
    signer, _ = make_own_key()
    (folder(sealed) / "approver.pem").write_text("nonsense")
    with pytest.raises(Failed, match="holds no key"):
        signer.sign(b"x")
    (folder(sealed) / "approver.pem").unlink()
    with pytest.raises(NotFound):
        signer.sign(b"x")
    make_own_key()
    with pytest.raises(Failed, match="is not the key that"):
        own_signer().sign(b"x")


def test_without_init_there_is_no_key() -> None:
    with pytest.raises(NotFound) as missing:
        own_signer()

    assert missing.value.fix == "git nexus init"


def test_a_signature_holds_for_its_key_and_its_content_only() -> None:
    one, other = Key(), Key()
    signature = one.sign(b"x")

    verify_signature(one.public, b"x", signature)
    for public, message, given in (
        (other.public, b"x", signature),
        (one.public, b"y", signature),
        (one.public, b"x", signature[:-1]),
        (one.public, b"x", b""),
        (one.public, b"x", bytes(64)),
    ):
        with pytest.raises(VerificationFailed):
            verify_signature(public, message, given)


@pytest.mark.parametrize(
    "text",
    ["", "ed25519", "ed25519 AAAA", "ed25519 " + "A" * 42 + "B", "ssh-dss AAAAB3NzaC1kc3M=", "ssh-ed25519 !!!!",
     "ssh-ed25519 AAAAB3NzaC1yc2E=", "command=\"x\" ssh-ed25519 AAAA", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAABAECAwQ=",
     "ssh-ed25519 AAAA\nssh-ed25519 BBBB"],
)  # fmt: skip
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        normalize_public_key(text)


def made(place: Path, kind: str = "ed25519", *more: str) -> Path:
    file = place / f"id_{kind}"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *more, "-N", "", "-C", "bob", "-f", str(file)], check=True)
    return file


@needs_ssh
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", pytest.param("rsa", marks=pytest.mark.slow)])
def test_an_ssh_key_signs_and_is_verified(tmp_path: Path, kind: str) -> None:
    file = made(tmp_path, kind)
    signer = SshSigner(str(file))
    signature = signer.sign(b"x")
    printed = subprocess.run(["ssh-keygen", "-lf", f"{file}.pub"], capture_output=True, text=True, check=True)

    assert signer.key_id == printed.stdout.split()[1]
    verify_signature(signer.public, b"x", signature)
    for message, given in ((b"y", signature), (b"x", signature[:-1]), (b"x", signature + b"\0"), (b"x", b"")):
        with pytest.raises(VerificationFailed):
            verify_signature(signer.public, message, given)
    with pytest.raises(VerificationFailed):
        verify_signature(Key().public, b"x", signature)


@needs_ssh
def test_an_ssh_signature_for_another_purpose_does_not_count(tmp_path: Path) -> None:
    file = made(tmp_path)
    message = tmp_path / "message"
    message.write_bytes(b"x")
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(file), str(message)], check=True)
    from gitnexus.policy.sshkeys import _dearmour_signature

    signature = _dearmour_signature((tmp_path / "message.sig").read_text())
    with pytest.raises(VerificationFailed):
        verify_signature(SshSigner(str(file)).public, b"x", signature)


@needs_ssh
def test_every_change_of_a_byte_of_an_ssh_signature_is_refused(tmp_path: Path) -> None:
    signer = SshSigner(str(made(tmp_path)))
    signature = signer.sign(b"x")

    for at in range(0, len(signature), 7):
        with pytest.raises(VerificationFailed):
            verify_signature(signer.public, b"x", signature[:at] + bytes([signature[at] ^ 1]) + signature[at + 1 :])


@needs_ssh
def test_a_key_in_the_agent_is_named_by_its_public_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = made(tmp_path)
    public = Path(f"{file}.pub").read_text().strip()
    sock = Path("/tmp", f"nexus-agent-{os.getpid()}")  # a socket's path must be short
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.PIPE)
    try:
        assert agent.stdout is not None
        agent.stdout.readline()  # it prints its address once it listens
        monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
        subprocess.run(["ssh-add", "-q", str(file)], check=True)
        file.unlink()

        signer = SshSigner(public)
        verify_signature(signer.public, b"x", signer.sign(b"x"))
        verify_signature(signer.public, b"x", SshSigner(f"key::{public}").sign(b"x"))
    finally:
        agent.terminate()
        agent.communicate()
        sock.unlink(missing_ok=True)


@needs_ssh
def test_the_users_config_names_the_key_and_the_repositorys_own_does_not(repository: Path, tmp_path: Path) -> None:
    make_own_key()
    file = made(tmp_path)
    run_git(repository, "config", "--local", "nexus.signingKey", str(file))
    assert signer_for_repo(discover(repository)).key_id.startswith("nx:")

    from gitnexus.git import config

    config.config_rows.cache_clear()
    run_git(repository, "config", "--global", "nexus.signingKey", str(file))
    assert signer_for_repo(discover(repository)).key_id == key_id(normalize_public_key(Path(f"{file}.pub").read_text()))


def test_a_signing_key_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"nexus\.signingKey: no public key"):
        SshSigner(str(tmp_path / "none"))
