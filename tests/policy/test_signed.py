"""What counts only when signed: the policy, and settings that loosen."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.policy.approvers import start_chain
from gitnexus.policy.signed import FILE, POLICY, SETTINGS, SignedFiles, content_digest, sign_files
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.settings import loosening_keys_in, settings_section
from tests.conftest import Nexus, run_git
from tests.policy.signing import NOW, Key


def named(file: Path) -> str:
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


def view(place: Path) -> SignedFiles:
    state = State.open(place)
    return SignedFiles(state.latest(), state.repo.common_dir)


def standing(place: Path, path: str = POLICY) -> tuple[bool, str]:
    found = view(place).trust_of(path, State.open(place).read(path) or b"")
    return found.trusted, found.why


def test_init_makes_a_key_a_first_approver_and_a_signed_policy_and_twice_is_harmless(nexus: Nexus) -> None:
    said = nexus.ok("init", "--name", "a")
    place = nexus.place

    assert "created your approver key in" in said and "wrote a first policy.md" in said
    assert standing(place) == (True, "")
    assert [one.name for one in view(place).approvers_with_consent().active] == ["Test Person"]
    before = run_git(place, "rev-parse", "refs/nexus/state")
    assert "nothing changed" in nexus.ok("init", "--name", "a")
    assert run_git(place, "rev-parse", "refs/nexus/state") == before


def test_a_project_from_before_there_were_approvers_gets_them_by_init(nexus: Nexus) -> None:
    nexus.ok("init", "--local")
    assert State.open(nexus.place).read("approvers") is None

    assert "made you the first approver" in nexus.ok("init")
    assert standing(nexus.place) == (True, "")


def test_a_policy_that_was_here_before_is_not_signed_by_init(nexus: Nexus) -> None:
    (nexus.place / ".nexus").mkdir()
    (nexus.place / ".nexus" / "policy.md").write_text("---\nmode: bypass\n---\n")
    nexus.ok("init")

    assert State.open(nexus.place).read(POLICY) == b"---\nmode: bypass\n---\n"
    assert standing(nexus.place) == (False, "nobody signed it")


def test_local_makes_no_key_and_nothing_outside(nexus: Nexus, sealed: Path) -> None:
    assert "no approver" in nexus.ok("init", "--local")
    assert not (sealed / "nexus" / "keys").exists()


def test_an_edit_by_hand_comes_in_and_does_not_count_until_it_is_trusted(project: Path, nexus: Nexus) -> None:
    file = project / ".nexus" / "policy.md"
    file.write_text(file.read_text() + "more\n")
    shown = json.loads(nexus.ok("status", "--json"))

    assert [row["path"] for row in shown["untrusted"]] == ["policy.md"]
    assert State.open(project).read(POLICY) == file.read_bytes()
    assert "it changed since it was signed" in standing(project)[1]
    assert "untrusted, so not in force: policy.md" in nexus.ok("status")

    assert nexus("policy", "trust").returncode == 2  # nobody can be asked
    assert nexus("policy", "trust", "--confirm", "sha256:" + "0" * 64).returncode == 2
    done = nexus("policy", "trust", "--confirm", named(file))
    assert done.returncode == 0, done.stderr
    assert "+more" in done.stderr and "hello" not in done.stderr
    assert standing(project) == (True, "")
    assert json.loads(nexus.ok("policy", "trust", "--json"))["signed"] == []


def test_a_person_at_a_terminal_sees_the_change_and_no_is_the_default(project: Path, nexus: Nexus) -> None:
    import pty

    file = project / ".nexus" / "policy.md"
    file.write_text(file.read_text() + "sly \x1b[2J\u202e text\n")
    nexus.ok("status")

    def asked(answer: bytes) -> str:
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(project)
            os.execvp("git", ["git", "nexus", "policy", "trust"])
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(fd, 65536)
        os.write(fd, answer)
        while True:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            shown += piece
        os.waitpid(pid, 0)
        os.close(fd)
        return shown.decode()

    shown = asked(b"\n")
    assert "+sly \\x1b[2J\\u202e text" in shown and "\x1b[2J" not in shown
    assert not standing(project)[0]
    assert "Signed policy.md" in asked(b"y\n")
    assert standing(project)[0]


def forged(project: Path, files: dict[str, bytes]) -> None:
    """Write to the ref as an agent could: with git, without our help."""
    State.open(project).write(files, why="forged")


def test_signatures_by_strangers_for_other_files_or_projects_do_not_count(project: Path) -> None:
    mine = project_id_of(State.open(project).latest()) or ""
    evil = b"---\nmode: bypass\n---\n"
    stranger = Key()
    for file in (
        sign_files(None, mine, {POLICY: (evil, "0" * 40)}, stranger, NOW),
        b"nonsense",
        json_document({"v": 1, "files": []}),
        json_document({"v": 1, "files": {POLICY: {"digest": content_digest(evil)}}}),
    ):
        forged(project, {POLICY: evil, FILE: file})
        assert not standing(project)[0]
    forged(project, {"approvers": start_chain(mine, "evil", stranger, NOW).to_bytes(),
                     FILE: sign_files(None, mine, {POLICY: (evil, "0" * 40)}, stranger, NOW)})  # fmt: skip
    trusted, why = standing(project)
    assert not trusted and "not those that this machine knows" in why


def test_a_signature_moved_to_another_file_does_not_count(project: Path) -> None:
    state = State.open(project)
    policy, rows = state.read(POLICY) or b"", parse_json(state.read(FILE) or b"")["files"]
    forged(project, {SETTINGS: policy, FILE: json_document({"v": 1, "files": {SETTINGS: rows[POLICY]}})})

    assert standing(project, SETTINGS) == (False, "the signature is not one of that key over this content")


def test_another_project_id_is_noticed(project: Path) -> None:
    state = State.open(project)
    value = parse_json(state.read("format.json") or b"")
    forged(project, {"format.json": json_document({**value, "id": "f" * 16})})

    assert "says now that it is ffffffffffffffff" in standing(project)[1]


def test_what_was_verified_is_remembered_and_the_memory_is_bound_to_all_of_it(project: Path, sealed: Path) -> None:
    assert standing(project)[0]
    remembered = (sealed / "nexus" / "cache" / "verified").read_text()
    assert standing(project)[0]
    assert (sealed / "nexus" / "cache" / "verified").read_text() == remembered
    forged(project, {POLICY: b"other\n"})
    assert not standing(project)[0]
    for pin in (sealed / "nexus" / "trust").glob("*.json"):
        pin.write_bytes(json_document({**parse_json(pin.read_bytes()), "consent": False}))
    assert "you have not said" in view(project).trust_of(POLICY, State.open(project).snapshot.blob(
        parse_json(State.open(project).read(FILE) or b"")["files"][POLICY]["blob"])).why  # fmt: skip


def test_no_signature_is_verified_twice_by_status(project: Path, nexus: Nexus) -> None:
    nexus.ok("status")
    code = "import sys; from gitnexus.main import main; sys.argv = ['git-nexus', 'status']\n"
    code += "try: main()\nfinally: print('cryptography' in sys.modules, file=sys.stderr)"
    import sys

    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "False"


def test_a_clone_knows_the_approvers_and_asks_before_their_word_counts(
    project: Path, tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(project, "push", "-q", str(tmp_path / "hub"), "x:x", check=False)
    clone = tmp_path / "clone"
    run_git(project, "clone", "-q", str(project), str(clone))
    assert "recorded your key" in Nexus(clone).ok("init", "--name", "mine")  # the same person, another clone
    assert standing(clone)[0]

    monkeypatch.setenv("NEXUS_HOME", str(sealed / "somebody else"))
    other = tmp_path / "other"
    run_git(project, "clone", "-q", str(project), str(other))
    there = Nexus(other)
    assert "after git nexus approver trust" in there.ok("init", "--name", "theirs")
    assert "you have not said that its approvers count here" in standing(other)[1]
    listed = json.loads(there.ok("approver", "list", "--json"))
    assert listed["counts"] is False and listed["own"] not in [row["key"] for row in listed["approvers"]]

    assert there("approver", "trust").returncode == 2
    there.ok("approver", "trust", "--confirm", listed["root"])
    assert standing(other)[0]
    (other / ".nexus" / "policy.md").write_text("changed\n")
    refused = there("policy", "trust", "--confirm", named(other / ".nexus" / "policy.md"))
    assert refused.returncode == 22 and "is not an approver of this project" in refused.stderr


def test_approvers_come_and_go_by_command(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    key = Key()
    (tmp_path / "bob.pub").write_text(key.public + " bob\n")
    assert nexus("approver", "add", str(tmp_path / "bob.pub")).returncode == 2
    added = json.loads(nexus.ok("approver", "add", str(tmp_path / "bob.pub"), "--confirm", key.key_id, "--json"))
    assert added["approver"]["name"] == "bob" and added["approver"]["key"] == key.key_id
    assert nexus("approver", "add", key.public, "--confirm", key.key_id).returncode == 3
    assert "bob" in nexus.ok("approver", "list")

    gone = json.loads(nexus.ok("approver", "revoke", "bob", "--reason", "left", "--json"))
    assert gone["approver"]["revokedAt"] and gone["untrusted"] == []
    assert nexus("approver", "revoke", "bob").returncode == 4
    assert nexus("approver", "revoke", "Test Person").returncode == 6
    assert "approvers: revoke" in nexus.ok("log")


def test_a_private_key_is_not_taken_for_a_public_one(project: Path, nexus: Nexus, sealed: Path) -> None:
    done = nexus("approver", "add", str(sealed / "nexus" / "keys" / "approver.pem"))

    assert done.returncode == 6 and "is a private key" in done.stderr


@pytest.mark.skipif(
    shutil.which("ssh-keygen") is None,
    reason="there is no ssh-keygen on PATH: install OpenSSH, apt install openssh-client",
)
def test_the_whole_way_works_with_an_ssh_key(nexus: Nexus, tmp_path: Path, sealed: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "id")], check=True)
    run_git(nexus.place, "config", "--global", "nexus.signingKey", str(tmp_path / "id"))
    nexus.ok("init")

    assert not (sealed / "nexus" / "keys").exists()
    assert standing(nexus.place)[0]
    assert json.loads(nexus.ok("approver", "list", "--json"))["root"].startswith("SHA256:")


LOOSE = {"memory": {"gc": {"automatic": True, "daysSinceAccess": 1}, "overlap": 0.7}, "catalog": {"source": "x"},
         "sandbox": {"level": "L0"}, "policy": {"mode": "bypass"}, "audit": {"reads": True}}  # fmt: skip


def test_keys_that_loosen_are_left_out_until_the_file_is_signed(project: Path, nexus: Nexus) -> None:
    (project / ".nexus" / "settings.json").write_text(json.dumps(LOOSE))
    nexus.ok("status")
    state = open_state(project)

    assert settings_section(state.latest(), "memory", state.trusts) == {
        "gc": {"daysSinceAccess": 1}, "overlap": 0.7,
    }  # fmt: skip
    assert settings_section(state.latest(), "catalog", state.trusts) == {}
    assert settings_section(state.latest(), "sandbox", state.trusts) == {}
    assert settings_section(state.latest(), "policy", state.trusts) == {}
    assert settings_section(state.latest(), "audit", state.trusts) == {"reads": True}
    nexus.ok("policy", "trust", "--confirm", named(project / ".nexus" / "settings.json"))
    for name, value in LOOSE.items():
        assert settings_section(state.latest(), name, state.trusts) == value


def test_the_users_own_settings_need_no_signature(project: Path, sealed: Path) -> None:
    (sealed / "nexus" / "settings.json").write_text(json.dumps(LOOSE))
    state = open_state(project)

    assert settings_section(state.latest(), "memory", state.trusts) == LOOSE["memory"]


@pytest.mark.parametrize(
    ("value", "loose"),
    [
        ({"memory": {"gc": {"automatic": False}}}, []),
        ({"memory": {"gc": {"automatic": 0}}}, ["memory.gc.automatic"]),
        ({"memory": {"gc": {"daysSinceAccess": 0}}}, []),
        ({"memory": {"overlap": 0.5}}, []),
        ({"policy": {"mode": "default"}}, []),
        ({"policy": {"mode": "autopilot"}}, ["policy.mode"]),
        ({"policy": "bypass"}, ["policy"]),
        ({"sandbox": "L0"}, ["sandbox"]),
        ({"sandbox": {"minimum": "L0", "level": {"a": 1}}}, ["sandbox"]),
        ({"catalog": {"source": None}}, ["catalog.source"]),
        ({"catalog": {"capabilities": {"a": ["b"]}}}, []),
        ([], []),
    ],
)
def test_what_loosens_is_told_by_its_key(value: object, loose: list[str]) -> None:
    assert loosening_keys_in(json.dumps(value).encode()) == loose


def test_who_forgets_by_themself_takes_no_thresholds_of_an_unsigned_project(project: Path, sealed: Path) -> None:
    own = {"automatic": True, "daysSinceAccess": 90, "cyclesSinceAccess": 9, "accessesAtMost": 1}
    (sealed / "nexus" / "settings.json").write_text(json.dumps({"memory": {"gc": own}}))
    forged(project, {SETTINGS: b'{"memory":{"gc":{"daysSinceAccess":0,"automatic":false}}}'})
    state = open_state(project)

    assert settings_section(state.latest(), "memory", state.trusts) == {"gc": {**own, "automatic": False}}
    assert loosening_keys_in(state.read(SETTINGS) or b"") == ["memory.gc.daysSinceAccess"]


def test_doctor_looks_at_key_approvers_signatures_and_ledger(project: Path, nexus: Nexus, sealed: Path) -> None:
    def found() -> dict[str, str]:
        rows = json.loads(nexus("doctor", "--json").stdout)["findings"]
        return {row["check"]: row["state"] for row in rows if row["check"] in checks}

    checks = ("key", "approvers", "signatures", "ledger")
    assert found() == {"key": "ok", "approvers": "ok"}
    (sealed / "nexus" / "keys" / "approver.pem").chmod(0o644)
    (project / ".git" / "nexus" / "spent.jsonl").write_text("nonsense\n")
    forged(project, {POLICY: b"other\n"})
    assert found() == {"key": "problem", "approvers": "ok", "signatures": "warning", "ledger": "problem"}
    forged(project, {"approvers": b"nonsense\n"})
    assert found()["approvers"] == "problem"


@pytest.mark.parametrize("harm", [None, b"nonsense\n", "another root"])
def test_doctor_brings_back_the_approvers_that_this_machine_knows(project: Path, nexus: Nexus, harm: object) -> None:
    state = State.open(project)
    before = state.read("approvers")
    evil = start_chain(project_id_of(state.latest()) or "", "evil", Key(), NOW).to_bytes()
    State.open(project).write({"approvers": evil if harm == "another root" else harm}, why="x")  # type: ignore[dict-item]
    assert not standing(project)[0] or harm is None
    assert nexus("doctor").returncode == 1

    nexus.ok("doctor", "--fix")
    assert State.open(project).read("approvers") == before
    assert standing(project) == (True, "")


def test_a_home_that_cannot_be_written_is_told_before_anything_is_made(
    nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("NEXUS_HOME", str(tmp_path / "file" / "home"))
    done = nexus("init")

    assert done.returncode == 1 and "approver key cannot be made" in done.stderr
    assert run_git(nexus.place, "for-each-ref", "refs/nexus") == ""


def test_uninstall_leaves_the_key_and_purge_forgets_the_rest(project: Path, nexus: Nexus, sealed: Path) -> None:
    assert "your approver key stays in" in nexus.ok("uninstall")
    nexus.ok("init")
    assert standing(project)[0]
    nexus.ok("uninstall", "--purge", "--yes")

    assert (sealed / "nexus" / "keys" / "approver.pem").exists()
    assert list((sealed / "nexus" / "trust").glob("*.json")) == []
    nexus.ok("init")
    assert standing(project)[0]
