"""The gate: modes, what lifts a built-in question, grants, and that it never fails open."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base import clock
from gitnexus.policy import model
from gitnexus.policy.builtin_refusals import REFUSALS
from gitnexus.policy.compiled_rules import compile_policy
from gitnexus.policy.facts import TAGS, facts_of
from gitnexus.policy.gate import BatchUsage, GateContext, decide_request
from gitnexus.policy.grants import SCOPES, GrantContext, grant_covers, make_grant, scopes_to_offer
from tests.policy.scene import change, command, handoff, law, patch
from tests.policy.test_request import REQUESTS

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
NETWORK = model.NetworkRequest(project="p", run="r", hosts=("pypi.org:443",), purpose="x")
PLAN = model.DocumentRequest(project="p", run="r", path="plans/a.json", old_digest="a", new_digest="b")


def said(request: model.Request, front: str = "", **fields: Any) -> tuple[str, str]:
    found = decide_request(request, law(front), **fields)
    return found.verdict, found.rule


@pytest.mark.parametrize("request_", [patch("a.py"), command("ls"), handoff(), PLAN, NETWORK])
def test_silence_asks(request_: model.Request) -> None:
    found = decide_request(request_, compile_policy())

    assert found.verdict == "ask"
    assert found.instead


def test_a_patch_is_allowed_only_if_every_path_is() -> None:
    front = 'allow:\n  - write: ["src/**"]\n  - write: ["docs/*.md"]'

    assert said(patch("src/a.py", "docs/a.md"), front) == ("allow", "user.allow.1")
    assert said(patch("src/a.py", "lib/a.py"), front) == ("ask", "silence")


def test_what_denies_reading_denies_writing_and_naming_the_file_in_a_command() -> None:
    front = 'allow:\n  - write: ["src/**"]\n  - run: ["cat", "**"]\ndeny:\n  - read: ["src/private/**"]'

    assert said(patch("src/private/a"), front) == ("deny", "user.deny.1")
    assert said(command("cat", "src/private/a"), front) == ("deny", "user.deny.1")
    assert said(command("cat", "src/public"), front) == ("allow", "user.allow.2")


def test_a_rule_that_names_the_very_file_answers_the_built_in_question_in_the_default_mode_only() -> None:
    front = 'allow:\n  - write: ["package.json", "src/**"]'
    world = GateContext(used=BatchUsage())

    assert said(patch("package.json", "src/a.ts"), front) == ("allow", "user.allow.1")
    for mode in ("acceptEdits", "autopilot"):
        assert said(patch("package.json"), front, mode=mode, world=world) == ("ask", "builtin.executes_later")
    assert said(patch("src/package.json"), front) == ("ask", "builtin.executes_later")
    assert said(patch(change("package.json", new_mode="100755")), front) == ("ask", "builtin.chmod_x")


def test_a_rule_that_spells_a_word_out_answers_the_built_in_question_about_it() -> None:
    runs = ('["npm", "test"]', '["git", "-c", "a=b", "status"]', '["x", "--jobs={int}", "{path}"]')
    front = "allow:\n" + "\n".join(f"  - run: {run}" for run in runs)

    assert said(command("npm", "test"), front) == ("allow", "user.allow.1")
    assert said(command("npm", "test", "--", "x"), front) == ("ask", "silence")
    assert said(command("git", "-c", "a=b", "status"), front)[0] == "allow"
    assert said(command("git", "-c", "a=b", "push"), front)[0] == "ask"
    assert said(command("x", "--jobs=4", "a/b"), front)[0] == "allow"
    for argv in (("x", "--jobs=4;x", "a"), ("x", "--jobs=4", "-a"), ("x", "--jobs=4", "../a"), ("x", "--jobs=4", "/a")):
        assert said(command(*argv), front)[0] == "ask"


def test_accepting_edits_accepts_patches_of_the_listed_paths_and_nothing_else() -> None:
    front = 'edits: ["src/**"]'

    assert said(patch("src/a.py"), front) == ("ask", "silence")
    assert said(patch("src/a.py"), front, mode="acceptEdits") == ("allow", "mode.acceptEdits")
    assert said(patch("src/a.py", "b.py"), front, mode="acceptEdits") == ("ask", "silence")
    assert said(command("ls"), front, mode="acceptEdits") == ("ask", "silence")
    assert said(patch("src/a.py"), front + '\nask:\n  - write: ["src/a.py"]', mode="acceptEdits")[0] == "ask"


def test_autopilot_adds_its_own_rules_and_keeps_the_count() -> None:
    front = 'autopilot:\n  allow:\n    - run: ["pytest", "**"]\n  budget: {commands: 1}'
    request = command("pytest", "-q")
    used = BatchUsage().after(request, 1)

    assert said(request, front) == ("ask", "silence")
    assert said(request, front, mode="autopilot", world=GateContext(used=BatchUsage())) == ("allow", "user.autopilot.1")
    assert said(request, front, mode="autopilot", world=GateContext(used=used)) == ("ask", "mode.autopilot")


def test_bypass_is_refused_unless_the_user_enabled_it_and_never_passes_a_deny() -> None:
    front = 'deny:\n  - write: ["x"]'

    assert said(patch("a"), front, mode="bypass") == ("deny", "mode.bypass")
    enabled = law(front, None, bypass=True)
    assert decide_request(patch("a"), enabled, mode="bypass").verdict == "allow"
    assert decide_request(patch("x"), enabled, mode="bypass").verdict == "deny"
    assert decide_request(patch(".env"), enabled, mode="bypass").verdict == "deny"


def test_the_network_has_to_be_given_by_the_rule() -> None:
    front = 'allow:\n  - run: ["fetch", "{name}"]\n    network: loopback\n  - hosts: ["pypi.org:443"]'

    assert said(command("fetch", "a", network="loopback"), front)[0] == "allow"
    assert said(command("fetch", "a", network="full"), front) == ("ask", "builtin.network")
    assert said(NETWORK, front) == ("ask", "builtin.network")
    assert said(NETWORK, 'deny:\n  - hosts: ["*.org"]') == ("deny", "user.deny.1")


def test_less_sandbox_than_the_minimum_is_denied() -> None:
    front = 'sandbox: {minimum: L2}\nallow:\n  - run: ["ls"]'

    assert said(command("ls", sandbox="L1"), front) == ("deny", "builtin.sandbox")
    assert said(command("ls", sandbox="L2"), front) == ("allow", "user.allow.1")


def test_documents_need_a_rule_that_says_their_kind() -> None:
    assert said(PLAN, 'allow:\n  - write: ["plans/**"]') == ("ask", "silence")
    assert said(PLAN, 'allow:\n  - write: ["plans/**"]\n    kind: plan_patch') == ("allow", "user.allow.1")
    assert said(PLAN, "allow:\n  - kind: plan_patch") == ("allow", "user.allow.1")
    assert said(PLAN, 'deny:\n  - write: ["plans/**"]') == ("deny", "user.deny.1")


def test_only_a_rule_that_says_so_allows_a_command_that_nothing_confines() -> None:
    front = 'allow:\n  - run: ["make"]\n    unconfined: true\n  - run: ["pytest"]\n    network: full'
    free: dict[str, Any] = {"sandbox": "L0", "network": "full"}
    world = GateContext(worktree="/w", executed_changed=True)

    assert said(command("make", **free), front, world=world) == ("allow", "user.allow.1")
    assert said(command("pytest", **free), front, world=world) == ("ask", "builtin.no_sandbox")
    # In a sandbox it gives no network: there one could be kept from it.
    assert said(command("make", network="full"), front, world=world) == ("ask", "builtin.network")


def test_a_handoff_is_allowed_from_one_role_to_another() -> None:
    front = 'allow:\n  - handoff: ["planner", "*"]'

    assert said(handoff(), front) == ("allow", "user.allow.1")
    assert said(handoff("executor", "planner"), front) == ("ask", "silence")


def test_a_grant_answers_a_question_and_never_a_deny() -> None:
    request = patch("src/a.py")
    grants = [make_grant(request, "path", LATER)]
    asks = 'ask:\n  - write: ["src/**"]'

    assert said(request, asks, grants=grants, now=NOW) == ("allow", "grant.path")
    assert said(request, asks, grants=grants, now=LATER) == ("ask", "user.ask.1")
    assert said(request, asks, grants=grants) == ("ask", "user.ask.1")
    assert said(request, asks.replace("ask", "deny"), grants=grants, now=NOW)[0] == "deny"


@pytest.mark.parametrize("field", [{"program": "/x"}, {"program_digest": "x"}, {"cwd": "/w/x"}, {"stdin_digest": "x"},
                                   {"env": {"A": "1"}}, {"network": "full"}, {"sandbox": "L0"}, {"role": "x"},
                                   {"project": "x"}])  # fmt: skip
def test_a_standing_grant_of_a_command_is_for_that_command_as_it_was(field: dict[str, Any]) -> None:
    grant = make_grant(command("make"), "argv", LATER, GrantContext("/w"))

    assert grant_covers(grant, command("make", run="other"), NOW, GrantContext("/w"))
    assert not grant_covers(grant, command("make", **field), NOW, GrantContext("/w"))


def test_a_standing_grant_holds_in_the_same_folder_of_another_worktree() -> None:
    grant = make_grant(command("ls", cwd="/w/sub"), "argv", LATER, GrantContext("/w"))

    assert grant_covers(grant, command("ls", cwd="/v/sub"), NOW, GrantContext("/v"))
    assert not grant_covers(grant, command("ls", cwd="/v"), NOW, GrantContext("/v"))


def test_slots_of_a_grant_take_what_they_say_and_no_option() -> None:
    grant = make_grant(command("pytest", "tests/a.py"), "argv", LATER, argv=("pytest", "{path}"))

    assert grant_covers(grant, command("pytest", "tests/b.py"), NOW)
    for word in ("-p", "--x", "../b", "/etc", "~/x", "$HOME"):
        assert not grant_covers(grant, command("pytest", word), NOW)


def test_a_grant_for_a_file_with_a_star_in_its_name_is_for_that_file() -> None:
    grant = make_grant(patch("src/[a]*.py"), "path", LATER)

    assert grant_covers(grant, patch("src/[a]*.py"), NOW)
    assert not grant_covers(grant, patch("src/ab.py"), NOW)


def test_offers_say_what_else_they_would_allow() -> None:
    assert [offer.scope for offer in scopes_to_offer(patch("a.py"))] == ["once", "session", "path", "repository"]
    assert [offer.scope for offer in scopes_to_offer(command("sudo", "x"))] == ["once"]
    assert [offer.scope for offer in scopes_to_offer(handoff())] == ["once", "session", "workflow"]
    assert all(offer.also for offer in scopes_to_offer(patch("a.py")))


MOMENTS = st.sampled_from([None, NOW, LATER])


@settings(deadline=None)
@given(REQUESTS, st.sampled_from(["default", "acceptEdits", "autopilot", "bypass", "odd", None]))
def test_whatever_is_asked_there_is_an_answer_and_silence_never_allows(request: model.Request, mode: Any) -> None:
    found = decide_request(request, compile_policy(), mode=mode, now=NOW)

    assert found.verdict in ("ask", "deny")
    assert 0 <= found.risk <= 4
    assert set(found.tags) <= set(TAGS)
    assert found.why
    assert found.rule


@settings(deadline=None)
@given(REQUESTS, REQUESTS, st.data())
def test_a_grant_for_once_covers_one_request_alone(
    one: model.Request, other: model.Request, data: st.DataObject
) -> None:
    grant = make_grant(one, "once", LATER)

    assert grant_covers(grant, one, NOW)
    assert grant_covers(grant, other, NOW) == (type(one) is type(other) and one == other)


@settings(deadline=None)
@given(REQUESTS, REQUESTS, st.data())
def test_no_grant_reaches_another_kind_project_or_role(
    one: model.Request, other: model.Request, data: st.DataObject
) -> None:
    grant = make_grant(one, data.draw(st.sampled_from(SCOPES[one.kind])), LATER)
    place = (one.kind, one.project, one.role)

    assert not grant_covers(grant, other, NOW) or place == (other.kind, other.project, other.role)


@pytest.mark.parametrize("broken", [None, 7, object(), "ls", {"kind": "command"}])
def test_what_is_no_request_is_denied(broken: Any) -> None:
    assert decide_request(broken, compile_policy()).verdict == "deny"
    assert decide_request(command("ls", env=None), compile_policy()).verdict == "deny"
    assert decide_request(command("ls").changed(argv=None), compile_policy()).verdict == "deny"
    assert decide_request(patch("a"), broken).verdict == "deny"
    assert decide_request(patch("a"), compile_policy(), grants=[broken], now=NOW).verdict == "deny"


def test_the_risk_is_what_the_worst_tag_says() -> None:
    assert facts_of(patch("a.py")).risk == 1
    assert facts_of(patch("a.py", "setup.py")).risk == 2
    assert facts_of(patch("a.py", "setup.py", ".gitmodules")).risk == 3
    assert facts_of(command("sudo", "ls")).risk == 4
    assert facts_of(patch(*(f"a{number}" for number in range(21)))).tags == ("writes_repo", "many_files")


def test_every_refusal_says_a_rule_that_the_table_knows() -> None:
    for request in (patch("../a"), patch(".git/x"), command(), command("ls", env={"LD_PRELOAD": "x"})):
        assert decide_request(request, compile_policy()).rule in REFUSALS


def test_a_grant_without_an_end_never_holds() -> None:
    grant = make_grant(patch("a"), "path", LATER)

    assert clock.parse_timestamp(grant.expires) == LATER
    assert not grant_covers(grant.changed(expires=""), patch("a"), NOW)
