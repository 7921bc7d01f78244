"""Attacks on approvals, by the numbers of the list: each must be refused, and for the right reason."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.errors import Failed, VerificationFailed
from gitnexus.policy.approvers import start_chain
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.grant_store import GrantStore, grant_digest
from gitnexus.policy.grants import ApprovalGrant, grant_covers
from gitnexus.policy.keys import make_own_key
from gitnexus.policy.ledger import FILE, Ledger
from gitnexus.policy.model import CommandRequest, PatchRequest, PatchRow
from gitnexus.policy.request import request_digest
from gitnexus.policy.signed import FILE as SIGNATURES
from gitnexus.policy.signed import POLICY, SETTINGS, SignedFiles, sign_files
from gitnexus.policy.tokens import DOMAIN, ExpectedAction, TokenClaims, issue_token, redeem_token
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.settings import settings_section
from tests.conftest import Nexus, run_git, trust
from tests.policy.signing import NOW, PROJECT, Key, Scene, patch, scene

COMMAND = CommandRequest(
    project=PROJECT, run="r1", role="engineer", argv=("pytest", "-q"), program="/usr/bin/pytest",
    program_digest="sha256:" + "5" * 64, cwd="/w", base="b" * 40, env={"LANG": "C"}, limits={"seconds": 60},
)  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def command(request: CommandRequest = COMMAND, **changed: Any) -> ExpectedAction:
    """What the gateway recomputes of the command that it is about to run."""
    said = {"project": request.project, "run": request.run, "kind": "command", "base": request.base, "result": "",
            "patch_id": "", "request": request_digest(request)}  # fmt: skip
    return patch(**{**said, **changed})


def run(here: Scene, token: str, expected: ExpectedAction) -> None:
    redeem_token(token, expected, here.approvers, NOW, here.ledger)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"env": {"LANG": "C", "LD_PRELOAD": "x.so"}}, id="106-other-env"),
        pytest.param({"env": {}}, id="106-no-env"),
        pytest.param({"cwd": "/w/sub"}, id="111-other-cwd"),
        pytest.param({"limits": {"seconds": 3600}}, id="111-other-timeout"),
        pytest.param({"sandbox": "L0"}, id="111-other-sandbox"),
        pytest.param({"network": "full"}, id="111-network"),
        pytest.param({"stdin_digest": "sha256:" + "6" * 64}, id="111-other-stdin"),
        pytest.param({"argv": ("pytest", "-q", "-p", "evil")}, id="128-updated-input"),
        pytest.param({"argv": ("pytest -q",)}, id="128-updated-argv-joined"),
        pytest.param({"program": "/w/bin/pytest"}, id="128-updated-program"),
        pytest.param({"program_digest": "sha256:" + "7" * 64}, id="128-program-exchanged"),
    ],
)
def test_a_token_for_one_command_runs_no_other(here: Scene, changed: dict[str, Any]) -> None:
    token = here.token(command())

    with pytest.raises(VerificationFailed, match="another request"):
        run(here, token, command(COMMAND.changed(**changed)))
    run(here, token, command())


def replayed(here: Scene, place: Path) -> None:
    token = here.token()
    run(here, token, patch())
    run(here, token, patch())


def replayed_after_restart(here: Scene, place: Path) -> None:
    token = here.token()
    run(here, token, patch())
    redeem_token(token, patch(), here.approvers, NOW, Ledger(place))


def _after_harm(here: Scene, place: Path, harm: Callable[[Path], object]) -> None:
    tokens = [here.token() for _ in range(3)]
    for token in tokens:
        run(here, token, patch())
    harm(place / "nexus" / FILE)
    for token in tokens:
        with pytest.raises(VerificationFailed):
            run(here, token, patch())
    run(here, tokens[0], patch())


def truncated(here: Scene, place: Path) -> None:
    _after_harm(here, place, lambda file: file.write_bytes(file.read_bytes().split(b"\n", 1)[0] + b"\n"))


def deleted(here: Scene, place: Path) -> None:
    _after_harm(here, place, lambda file: file.unlink())


def last_line_cut(here: Scene, place: Path) -> None:
    _after_harm(here, place, lambda file: file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1])))


def open_token_after_truncation(here: Scene, place: Path) -> None:
    token = here.token()
    for _ in range(2):
        run(here, here.token(), patch())
    (place / "nexus" / FILE).write_bytes(b"")
    run(here, token, patch())


def in_a_copy(here: Scene, place: Path) -> None:
    copy = place.with_name(place.name + "-copy")
    shutil.copytree(place, copy)
    redeem_token(here.token(), patch(), here.approvers, NOW, Ledger(copy))


def in_a_clone_at_the_same_path(here: Scene, place: Path) -> None:
    token = here.token()
    shutil.rmtree(place / "nexus")
    redeem_token(token, patch(), here.approvers, NOW, Ledger(place))


def with_session_as_once(here: Scene, place: Path) -> None:
    run(here, here.token(scope="session"), patch())


def by_the_agents_key(here: Scene, place: Path) -> None:
    agent = Key()
    run(here, here.token(signer=agent, approver=agent.key_id), patch())


def in_the_name_of_another(here: Scene, place: Path) -> None:
    raw = here.claims().bytes()
    run(here, f"nx1.{encode_base64(raw)}.{encode_base64(Key().sign(DOMAIN + raw))}", patch())


def with_alg_none(here: Scene, place: Path) -> None:
    raw = canonical_json({**here.claims().plain(), "alg": "none"})
    run(here, f"nx1.{encode_base64(raw)}.{encode_base64(here.key.sign(DOMAIN + raw))}", patch())


def with_half_a_signature(here: Scene, place: Path) -> None:
    head, claims, signature = here.token().split(".")
    run(here, f"{head}.{claims}.{encode_base64(decode_base64(signature)[:32])}", patch())


def without_signature(here: Scene, place: Path) -> None:
    run(here, here.token().rpartition(".")[0] + ".", patch())


def with_the_signature_of_another_token(here: Scene, place: Path) -> None:
    one, other = here.token().split("."), here.token().split(".")
    run(here, ".".join([one[0], one[1], other[2]]), patch())


def with_claims_reordered(here: Scene, place: Path) -> None:
    value = here.claims().plain()
    raw = json.dumps(dict(sorted(value.items(), reverse=True)), separators=(",", ":")).encode()
    run(here, f"nx1.{encode_base64(raw)}.{encode_base64(here.key.sign(DOMAIN + raw))}", patch())


def with_parts_reordered(here: Scene, place: Path) -> None:
    head, claims, signature = here.token().split(".")
    run(here, f"{head}.{signature}.{claims}", patch())


def by_another_role_once(here: Scene, place: Path) -> None:
    run(here, here.token(), patch(role="executor"))


def expired(here: Scene, place: Path) -> None:
    redeem_token(here.token(), patch(), here.approvers, NOW + timedelta(hours=2), here.ledger)


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        pytest.param(replayed, "is spent", id="replayed"),
        pytest.param(replayed_after_restart, "is spent", id="108-replayed-after-restart"),
        pytest.param(truncated, "before the ledger", id="108-ledger-truncated"),
        pytest.param(deleted, "before the ledger", id="108-ledger-deleted"),
        pytest.param(last_line_cut, "is spent", id="108-last-line-cut"),
        pytest.param(open_token_after_truncation, "before the ledger", id="108-open-token-after-truncation"),
        pytest.param(in_a_copy, "another clone", id="110-copied-repository"),
        pytest.param(in_a_clone_at_the_same_path, "another clone", id="110-clone-at-the-same-path"),
        pytest.param(lambda here, place: run(here, here.token(), patch(run="r2")), "another run", id="110-other-run"),
        pytest.param(lambda here, place: run(here, here.token(), patch(session="x")), "another session",
                     id="110-other-session"),
        pytest.param(lambda here, place: run(here, here.token(), patch(project="x" * 16)), "another project",
                     id="110-other-project"),
        pytest.param(lambda here, place: run(here, here.token(), patch(mode="autopilot")), "another mode",
                     id="113-other-mode"),
        pytest.param(with_session_as_once, "scope session", id="113-session-as-once"),
        pytest.param(by_the_agents_key, "is not an approver", id="125-key-of-the-agent"),
        pytest.param(in_the_name_of_another, "forged", id="125-forged"),
        pytest.param(with_alg_none, "alg is not known", id="125-alg-none"),
        pytest.param(with_half_a_signature, "forged", id="125-truncated-signature"),
        pytest.param(without_signature, "does not have the form", id="125-no-signature"),
        pytest.param(with_the_signature_of_another_token, "forged", id="125-signature-of-another-token"),
        pytest.param(with_claims_reordered, "canonical", id="120-claims-reordered"),
        pytest.param(with_parts_reordered, "malformed", id="125-parts-reordered"),
        pytest.param(by_another_role_once, "another role", id="140-handoff-once"),
        pytest.param(expired, "expired", id="expired"),
    ],
)  # fmt: skip
def test_the_token_is_refused(here: Scene, tmp_path: Path, attack: Callable[[Scene, Path], None], words: str) -> None:
    with pytest.raises(VerificationFailed, match=words):
        attack(here, tmp_path)


GRANT = ApprovalGrant(
    scope="session", kind="patch", project=PROJECT, role="engineer", run="r1", expires="2026-12-01T00:00:00Z",
    paths=("**",),
)  # fmt: skip
REQUEST = PatchRequest(
    project=PROJECT, run="r1", role="engineer", base="b" * 40, base_tree="a" * 40, result_tree="c" * 40,
    changes=(PatchRow(path="a.txt", old_mode="100644", new_mode="100644", old_blob="1" * 40, new_blob="2" * 40),),
)  # fmt: skip


def granted(here: Scene, grant: ApprovalGrant = GRANT, **changed: Any) -> tuple[TokenClaims, str]:
    claims = here.claims(patch(request=grant_digest(grant)), **{"scope": "session", **changed})
    return claims, issue_token(claims, here.key)


def rewritten_as_repository(here: Scene, store: GrantStore) -> None:
    claims, token = granted(here)
    wider = GRANT.changed(scope="repository")
    body = canonical_json({**claims.plain(), "scope": "repository", "request": grant_digest(wider)})
    store.keep(wider, claims, f"nx1.{encode_base64(body)}.{token.rpartition('.')[2]}")


def under_a_wider_grant(here: Scene, store: GrantStore) -> None:
    store.keep(GRANT.changed(role=""), *granted(here))


def under_another_name(here: Scene, store: GrantStore) -> None:
    claims, token = granted(here)
    store.keep(GRANT, claims.changed(nonce="ab" * 16), token)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(lambda here, store: store.keep(GRANT, *granted(here, scope="once")), id="113-once-as-session"),
        pytest.param(rewritten_as_repository, id="113-scope-rewritten"),
        pytest.param(under_a_wider_grant, id="113-grant-widened"),
        pytest.param(under_another_name, id="113-grant-renamed"),
        pytest.param(
            lambda here, store: store.keep(GRANT, *granted(here, now=NOW - timedelta(hours=2))), id="expired-standing"
        ),
    ],
)
def test_a_standing_approval_with_another_token_is_ignored(
    here: Scene, tmp_path: Path, attack: Callable[[Scene, GrantStore], None]
) -> None:
    store = GrantStore(tmp_path)
    attack(here, store)

    assert store.holding(here.approvers, here.ledger, NOW) == []


def test_113_a_standing_approval_of_another_project_is_ignored(here: Scene, tmp_path: Path) -> None:
    there = start_chain("fedcba9876543210", "the same person", here.key, NOW)
    store = GrantStore(tmp_path)
    claims, token = granted(here)
    store.keep(GRANT, claims, token)

    assert store.holding(here.approvers, here.ledger, NOW) == [(claims.nonce, GRANT)]
    assert store.holding(there, here.ledger, NOW) == []


def test_140_a_standing_approval_holds_for_its_own_role_and_run_only() -> None:
    assert grant_covers(GRANT, REQUEST, NOW)
    assert not grant_covers(GRANT, REQUEST.changed(role="executor"), NOW)
    assert not grant_covers(GRANT, REQUEST.changed(run="r2"), NOW)


@pytest.mark.parametrize("mode", [pytest.param(mode, id=f"126-mode-{mode:o}") for mode in (0o644, 0o640, 0o604, 0o660)])
def test_a_key_that_others_can_read_signs_nothing(sealed: Path, mode: int) -> None:
    signer, _ = make_own_key()
    (sealed / "nexus" / "keys" / "approver.pem").chmod(mode)

    with pytest.raises(Failed, match="can be read by others"):
        signer.sign(b"x")


@pytest.mark.parametrize("where", [pytest.param("", id="126-not-in-the-repository")])
def test_the_key_is_neither_in_the_repository_nor_in_the_environment(project: Path, sealed: Path, where: str) -> None:
    secret = (sealed / "nexus" / "keys" / "approver.pem").read_bytes().splitlines()[1]
    found = [
        path for path in project.rglob("*") if path.is_file() and not path.is_symlink() and secret in path.read_bytes()
    ]

    assert found == []
    assert secret.decode() not in "".join(os.environ.values())
    assert stat.S_IMODE((sealed / "nexus" / "keys").stat().st_mode) == 0o700


EVIL = b"---\nversion: 1\nmode: bypass\nallow:\n  - run: ['**']\n---\n"
LOOSE = json_document({"policy": {"mode": "bypass"}, "sandbox": "L0", "catalog": {"source": "evil"},
                  "memory": {"gc": {"automatic": True, "daysSinceAccess": 0, "cyclesSinceAccess": 0,
                                    "accessesAtMost": 9}}})  # fmt: skip


def edited_by_hand(project: Path) -> None:
    (project / ".nexus" / "policy.md").write_bytes(EVIL)
    (project / ".nexus" / "settings.json").write_bytes(LOOSE)


def committed_with_git(project: Path) -> None:
    State.open(project).write({POLICY: EVIL, SETTINGS: LOOSE}, why="policy: trust policy.md")


def signed_by_a_stranger(project: Path) -> None:
    state = State.open(project)
    made = sign_files(
        None, project_id_of(state.latest()) or "", {POLICY: (EVIL, "0" * 40), SETTINGS: (LOOSE, "0" * 40)}, Key(), NOW
    )
    state.write({POLICY: EVIL, SETTINGS: LOOSE, SIGNATURES: made}, why="x")


def signed_by_a_new_root(project: Path) -> None:
    state, key = State.open(project), Key()
    name = project_id_of(state.latest()) or ""
    made = sign_files(None, name, {POLICY: (EVIL, "0" * 40), SETTINGS: (LOOSE, "0" * 40)}, key, NOW)
    chain = start_chain(name, "Test Person", key, NOW).to_bytes()
    state.write({POLICY: EVIL, SETTINGS: LOOSE, SIGNATURES: made, "approvers": chain}, why="x")


def signed_for_a_new_project(project: Path) -> None:
    state, key = State.open(project), Key()
    made = sign_files(None, "f" * 16, {POLICY: (EVIL, "0" * 40), SETTINGS: (LOOSE, "0" * 40)}, key, NOW)
    chain = start_chain("f" * 16, "Test Person", key, NOW).to_bytes()
    form = json_document({**parse_json(state.read("format.json") or b""), "id": "f" * 16})
    files = {POLICY: EVIL, SETTINGS: LOOSE, SIGNATURES: made, "approvers": chain, "format.json": form}
    state.write(files, why="x")


def with_everything_of_ours_gone(project: Path) -> None:
    committed_with_git(project)
    State.open(project).write({"approvers": None, SIGNATURES: None}, why="x")
    Nexus(project).ok("init")


def a_policy_of_the_repositorys_config(project: Path) -> None:
    edited_by_hand(project)
    if shutil.which("ssh-keygen"):
        key = project / "evil"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        run_git(project, "config", "nexus.signingKey", str(key))
    assert Nexus(project)("policy", "trust").returncode == 2


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(edited_by_hand, id="133-policy-edited-by-an-agent"),
        pytest.param(committed_with_git, id="133-policy-committed-by-an-agent"),
        pytest.param(signed_by_a_stranger, id="133-signed-by-a-stranger"),
        pytest.param(signed_by_a_new_root, id="133-approvers-replaced"),
        pytest.param(signed_for_a_new_project, id="133-project-replaced"),
        pytest.param(with_everything_of_ours_gone, id="133-approvers-deleted-then-init"),
        pytest.param(a_policy_of_the_repositorys_config, id="133-key-in-the-repositorys-config"),
    ],
)
def test_a_policy_that_no_approver_signed_is_not_in_force(project: Path, attack: Callable[[Path], None]) -> None:
    attack(project)
    done = Nexus(project)("status", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    state = open_state(project)
    view = SignedFiles(state.latest(), state.repo.common_dir)

    assert not view.trust_of(POLICY, EVIL).trusted
    assert not view.trust_of(SETTINGS, LOOSE).trusted
    for name in ("policy", "sandbox", "catalog"):
        assert settings_section(state.latest(), name, state.trusts) == {}
    assert "automatic" not in settings_section(state.latest(), "memory", state.trusts)["gc"]
    assert {row["path"] for row in json.loads(done.stdout)["untrusted"]} == {POLICY, SETTINGS}


def _evil_clone(place: Path, tmp_path: Path) -> Path:
    """A project whose owner signed a policy that allows everything, cloned by somebody else."""
    (place / ".nexus" / "policy.md").write_bytes(EVIL)
    (place / ".nexus" / "settings.json").write_bytes(LOOSE)
    digests = [f"sha256:{hashlib.sha256(raw).hexdigest()}" for raw in (EVIL, LOOSE)]
    Nexus(place).ok("policy", "trust", "--confirm", digests[0], "--confirm", digests[1])
    run_git(place, "clone", "-q", str(place), str(tmp_path / "clone"))
    return tmp_path / "clone"


@pytest.mark.parametrize("adds_me", [pytest.param(False, id="133-clone"), pytest.param(True, id="133-clone-adds-me")])
def test_a_clone_that_ships_a_signed_policy_loosens_nothing_by_itself(
    project: Path, tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch, adds_me: bool
) -> None:
    attacker = os.environ["NEXUS_HOME"]
    monkeypatch.setenv("NEXUS_HOME", str(sealed / "victim"))
    mine, _ = make_own_key()
    monkeypatch.setenv("NEXUS_HOME", attacker)
    if adds_me:  # public keys are public
        Nexus(project).ok("approver", "add", mine.public, "--name", "victim", "--confirm", mine.key_id)
    clone = _evil_clone(project, tmp_path)
    monkeypatch.setenv("NEXUS_HOME", str(sealed / "victim"))
    Nexus(clone).ok("init", "--name", "clone")
    state = open_state(clone)

    assert "you have not said" in SignedFiles(state.latest(), state.repo.common_dir).trust_of(POLICY, EVIL).why
    assert settings_section(state.latest(), "policy", state.trusts) == {}
    with pytest.raises(VerificationFailed):
        SignedFiles(state.latest(), state.repo.common_dir).approvers_with_consent()


@pytest.mark.parametrize("where", [pytest.param("", id="133-older-signed-policy")])
def test_an_older_policy_that_was_signed_once_does_not_come_back(project: Path, nexus: Nexus, where: str) -> None:
    old = {name: State.open(project).read(name) for name in (POLICY, SIGNATURES)}
    (project / ".nexus" / "policy.md").write_bytes(b"---\nversion: 1\n---\nstricter\n")
    nexus.ok("status")
    trust(project)
    State.open(project).write(old, why="x")
    state = open_state(project)

    assert "an older version" in SignedFiles(state.latest(), state.repo.common_dir).untrusted()[POLICY]
    trust(project)
    assert SignedFiles(state.latest(), state.repo.common_dir).untrusted() == {}


@pytest.mark.parametrize("where", [pytest.param("", id="125-revocation-hidden-from-a-new-clone")])
def test_a_clone_that_lacks_a_revocation_that_was_seen_is_not_trusted(
    project: Path, nexus: Nexus, tmp_path: Path, where: str
) -> None:
    key = Key()
    nexus.ok("approver", "add", key.public, "--name", "bob", "--confirm", key.key_id)
    before = State.open(project).latest().commit
    nexus.ok("approver", "revoke", "bob")
    run_git(project, "clone", "-q", str(project), str(tmp_path / "clone"))
    run_git(tmp_path / "clone", "remote", "remove", "origin")
    run_git(tmp_path / "clone", "fetch", "-q", str(project), "+refs/nexus/state:refs/nexus/state")
    run_git(tmp_path / "clone", "update-ref", "refs/nexus/state", before or "")

    assert "has seen entries that this list lacks" in Nexus(tmp_path / "clone").ok("init", "--name", "clone")
    state = open_state(tmp_path / "clone")
    with pytest.raises(VerificationFailed, match="you have not said"):
        SignedFiles(state.latest(), state.repo.common_dir).approvers_with_consent()


@pytest.mark.parametrize("name", [pytest.param(name, id=f"133-{name}-by-hand") for name in ("approvers", SIGNATURES)])
def test_what_signs_others_in_is_not_taken_from_the_folder(project: Path, nexus: Nexus, name: str) -> None:
    before = State.open(project).read(name)
    (project / ".nexus" / name).write_bytes(b'{"v":1}\n')
    nexus.ok("status")

    assert State.open(project).read(name) == before
