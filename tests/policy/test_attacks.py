"""Attacks that the gate must stand, by their number: what hides in a patch, a command line, a rule or a grant."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitnexus.base.canonical import canonical_json
from gitnexus.base.errors import Invalid
from gitnexus.policy.compiled_rules import compile_policy, why_unreadable
from gitnexus.policy.gate import BatchUsage, GateContext, decide_request
from gitnexus.policy.grants import GrantContext, grant_covers, make_grant, scopes_to_offer
from gitnexus.policy.model import PatchRow, PolicyRequest, Request
from gitnexus.policy.request import parse_request, request_digest
from tests.policy.scene import change, command, handoff, law, patch, policy

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
# As generous as a rule may be: whatever is not allowed under it is held by the gate itself.
GENEROUS = 'allow:\n  - write: ["?*", "?*/**"]'
RUNS = "allow:\n" + "\n".join(
    f'  - run: ["{name}", "**"]'
    for name in (
        "git find xargs rg tar sort less man ssh rsync zip vim make pytest npm curl wget docker sh python3 env sudo ls "
        "cat rm node perl awk tool"
    ).split()
)
ASKED_MODES: tuple[Any, ...] = ("default", "acceptEdits", "autopilot")
LINK = {"old_mode": "", "old_blob": "", "new_mode": "120000"}


def verdict(request: Request, front: str = GENEROUS, **fields: Any) -> tuple[str, str]:
    found = decide_request(request, law(front), **fields)
    return found.verdict, found.rule


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        pytest.param(".git/hooks/pre-commit", "builtin.git", id="001-hook-by-patch"),
        pytest.param("src/../../outside.txt", "builtin.path", id="003-traversal"),
        pytest.param("src/../a.txt", "builtin.path", id="003-traversal-inside"),
        pytest.param(".GIT/config", "builtin.git", id="005-case"),
        pytest.param("sub/.git/config", "builtin.git", id="006-nested"),
        pytest.param("a/b/.Git/hooks/x", "builtin.git", id="006-nested-case"),
        pytest.param("git~1/config", "builtin.git", id="x-short-name"),
        pytest.param(".git./config", "builtin.git", id="008-trailing-dot"),
        pytest.param(".git /config", "builtin.git", id="008-trailing-blank"),
        pytest.param(".g\u200cit/config", "builtin.git", id="x-hfs"),
        pytest.param(".git::$INDEX_ALLOCATION/config", "builtin.git", id="010-stream-of-git"),
        pytest.param("a.txt:ads", "builtin.stream", id="010-stream"),
        pytest.param("safe\0.env", "builtin.path", id="013-nul"),
        pytest.param("x\x1b[2Jy", "builtin.path", id="015-escape"),
        pytest.param(".env", "builtin.secret", id="020-copy-to-env"),
        pytest.param("deep/.ENV.production", "builtin.secret", id="020-env-in-capitals"),
        pytest.param("deploy/server.key", "builtin.secret", id="020-key"),
        pytest.param("home/.aws/credentials", "builtin.secret", id="020-cloud"),
        pytest.param(".nexus/policy.md", "builtin.nexus", id="043-policy-by-patch"),
        pytest.param("sub/.NEXUS/settings.json", "builtin.nexus", id="043-policy-in-capitals"),
        pytest.param("/etc/passwd", "builtin.path", id="136-absolute"),
        pytest.param("a//b.txt", "builtin.path", id="136-double-slash"),
        pytest.param("./a.txt", "builtin.path", id="136-dot"),
        pytest.param("a/", "builtin.path", id="136-trailing-slash"),
        pytest.param("~/.aws/x", "builtin.path", id="136-tilde"),
        pytest.param("$HOME/.aws", "builtin.path", id="136-home"),
        pytest.param("a/%2e%2e/b", "builtin.path", id="136-encoded"),
        pytest.param("a\\b", "builtin.path", id="136-backslash"),
        pytest.param(change("x", **LINK, link_target="/etc"), "builtin.link", id="026-link-to-absolute"),
        pytest.param(change("a.txt", new_mode="120000", link_target="/etc/passwd"), "builtin.link", id="030-type"),
        pytest.param(change("docs/x", **LINK, link_target="../../../etc/passwd"), "builtin.link", id="031-link-leaves"),
        pytest.param(change("x", **LINK, link_target=".git/config"), "builtin.link", id="031-link-into-git"),
        pytest.param(change("a/x", **LINK, link_target="../.GIT/config"), "builtin.link", id="031-link-into-git-case"),
        pytest.param(change("x", **LINK, link_target=".env"), "builtin.link", id="031-link-to-a-secret"),
        pytest.param(change("x", **LINK), "builtin.link", id="031-link-to-nobody-knows"),
        pytest.param(change("x", new_mode="100664"), "builtin.mode", id="030-odd-mode"),
    ],
)  # fmt: skip
def test_a_patch_is_denied_in_every_mode(row: str | PatchRow, rule: str) -> None:
    rules = law(GENEROUS, None, bypass=True)
    modes: tuple[Any, ...] = ("default", "acceptEdits", "autopilot", "bypass")
    for mode in modes:
        found = decide_request(patch("src/ok.txt", row), rules, mode=mode, world=GateContext(used=BatchUsage()))

        assert (mode, found.verdict, found.rule) == (mode, "deny", rule)


def test_023_two_paths_that_fold_into_one_are_denied() -> None:
    assert verdict(patch("caf\u00e9.txt", "cafe\u0301.txt")) == ("deny", "builtin.collision")
    assert verdict(patch("A.txt", "a.txt")) == ("deny", "builtin.collision")


@pytest.mark.parametrize(
    ("row", "tag"),
    [
        pytest.param("aux.txt", "reserved_name", id="025-reserved"),
        pytest.param("docs/COM1.md", "reserved_name", id="025-reserved-deep"),
        pytest.param(change("src/x", **LINK, link_target="ok.txt"), "symlink", id="026-link-inside"),
        pytest.param(change("a.txt", new_mode="120000", link_target="b.txt"), "typechange", id="030-typechange-inside"),
        pytest.param(".gitmodules", "attributes", id="035-gitmodules"),
        pytest.param("src/.gitattributes", "attributes", id="036-gitattributes"),
        pytest.param(".GitAttributes", "attributes", id="036-gitattributes-case"),
        pytest.param(change("src/x.txt", new_mode="100755"), "chmod_x", id="038-exec-bit"),
        pytest.param(change("src/x.txt", old_mode="", new_mode="100755"), "chmod_x", id="038-new-executable"),
        pytest.param(change("src/x.txt", binary=True), "binary", id="040-binary"),
        pytest.param(change("src/lib", old_mode="160000", new_mode="160000"), "submodule", id="035-gitlink"),
        pytest.param(change("docs/CODEOWNERS", new_mode="", new_blob=""), "deletes_guard", id="043-codeowners"),
        pytest.param(change(".github/workflows/ci.yml", new_mode=""), "deletes_guard", id="043-workflow"),
        pytest.param(change("src/tests/test_a.py", new_mode=""), "deletes_guard", id="043-tests"),
        pytest.param("src/package.json", "executes_later", id="045-package-json"),
        pytest.param("src/conftest.py", "executes_later", id="045-conftest"),
        pytest.param("src/Makefile", "executes_later", id="045-makefile"),
        pytest.param("setup.py", "executes_later", id="045-setup-py"),
        pytest.param("pyproject.toml", "executes_later", id="045-pyproject"),
        pytest.param(".envrc", "executes_later", id="045-envrc"),
        pytest.param(".vscode/tasks.json", "executes_later", id="045-vscode"),
        pytest.param(".husky/pre-push", "hooks", id="045-husky"),
        pytest.param(".pre-commit-config.yaml", "hooks", id="045-pre-commit"),
        pytest.param(".github/workflows/ci.yml", "ci", id="045-ci"),
        pytest.param(".claude/settings.json", "agent_config", id="205-agent-config"),
    ],
)  # fmt: skip
def test_a_patch_is_asked_about_whatever_a_wildcard_allows(row: str | PatchRow, tag: str) -> None:
    request = patch("src/ok.txt", row)
    rules = law(GENEROUS)
    for mode in ASKED_MODES:
        found = decide_request(request, rules, mode=mode, world=GateContext(used=BatchUsage()))

        assert found.verdict == "ask"
        assert tag in found.tags
        assert found.rule in {f"builtin.{one}" for one in found.tags}
        assert found.risk >= 2
        assert [offer.scope for offer in scopes_to_offer(request)] == ["once"]


def test_the_yardstick_of_the_rows_above_is_allowed() -> None:
    assert verdict(patch("src/ok.txt", "docs/x.md")) == ("allow", "user.allow.1")
    assert verdict(command("git", "status", "--short"), RUNS)[0] == "allow"
    assert verdict(command("find", ".", "-name", "*.py"), RUNS)[0] == "allow"


ESCALATING = [
    pytest.param(("find", ".", "-exec", "touch", "pwned", ";"), id="071-find-exec"),
    pytest.param(("find", ".", "-delete"), id="071-find-delete"),
    pytest.param(("find", ".", "-fprintf", "x", "y"), id="071-find-fprintf"),
    pytest.param(("find", ".", "-okdir", "x", ";"), id="071-find-okdir"),
    pytest.param(("git", "-c", "core.fsmonitor=x", "status"), id="x-git-c"),
    pytest.param(("git", "-c", "alias.x=!touch pwned", "x"), id="073-git-alias-by-c"),
    pytest.param(("git", "unheard-of"), id="073-git-alias"),
    pytest.param(("git", "--config-env=core.pager=X", "log"), id="073-git-config-env"),
    pytest.param(("git", "config", "core.pager", "x"), id="x-git-config"),
    pytest.param(("git", "fetch", "origin"), id="076-git-fetch"),
    pytest.param(("git", "ls-remote", "."), id="076-git-ls-remote"),
    pytest.param(("git", "submodule", "update"), id="076-git-submodule"),
    pytest.param(("git", "help", "-a"), id="078-git-help"),
    pytest.param(("git", "-p", "log"), id="078-git-pager"),
    pytest.param(("git", "commit"), id="078-git-commit"),
    pytest.param(("git", "diff", "--output=x"), id="080-git-output"),
    pytest.param(("git", "diff", "--no-index", "a", "/etc/passwd"), id="080-git-no-index"),
    pytest.param(("git", "bisect", "run", "x"), id="080-git-bisect"),
    pytest.param(("git", "rebase", "-x", "x"), id="080-git-rebase"),
    pytest.param(("rg", "--pre", "cmd", "x"), id="080-rg-pre"),
    pytest.param(("rg", "--pre=cmd", "x"), id="080-rg-pre-joined"),
    pytest.param(("rg", "--hostname-bin", "cmd", "x"), id="080-rg-hostname-bin"),
    pytest.param(("tar", "--to-command=x", "-xf", "a.tar"), id="080-tar-to-command"),
    pytest.param(("tar", "--checkpoint-action=exec=x"), id="080-tar-checkpoint"),
    pytest.param(("sort", "-o", "F", "x"), id="080-sort-o"),
    pytest.param(("sort", "-noF", "x"), id="080-sort-o-joined"),
    pytest.param(("sort", "--compress-program=x"), id="080-sort-compress"),
    pytest.param(("less", "+!x"), id="080-less"),
    pytest.param(("man", "-P", "x", "ls"), id="080-man"),
    pytest.param(("ssh", "-oProxyCommand=x", "h"), id="080-ssh"),
    pytest.param(("rsync", "-e", "x", "a", "b"), id="080-rsync"),
    pytest.param(("zip", "-TT", "x", "a.zip", "b"), id="080-zip"),
    pytest.param(("vim", "-c", "!x"), id="080-vim"),
    pytest.param(("make", "--eval=x"), id="080-make-eval"),
    pytest.param(("pytest", "-p", "evil"), id="080-pytest-p"),
    pytest.param(("pytest", "-qp", "evil"), id="080-pytest-p-joined"),
    pytest.param(("pytest", "-c", "evil.ini"), id="080-pytest-c"),
    pytest.param(("npm", "test", "--script-shell=x"), id="080-npm-script-shell"),
    pytest.param(("npm", "install"), id="080-npm-install"),
    pytest.param(("curl", "-o", "x", "http://x"), id="080-curl"),
    pytest.param(("wget", "--use-askpass=x"), id="080-wget"),
    pytest.param(("docker", "run", "-v", "/:/h", "x"), id="080-docker"),
    pytest.param(("git", "log", "--outp=F"), id="081-abbreviated-git"),
    pytest.param(("tar", "--to-comm=x"), id="081-abbreviated-tar"),
    pytest.param(("rg", "--pr", "x"), id="081-abbreviated-rg"),
    pytest.param(("sh", "-c", "touch pwned"), id="x-shell"),
    pytest.param(("python3", "-c", "1"), id="x-python"),
    pytest.param(("node", "-e", "1"), id="x-node"),
    pytest.param(("perl", "-e1"), id="x-perl"),
    pytest.param(("awk", "BEGIN{system(1)}"), id="x-awk"),
    pytest.param(("xargs", "touch"), id="x-xargs"),
    pytest.param(("env", "X=1", "touch"), id="x-env"),
    pytest.param(("sudo", "ls"), id="x-sudo"),
    pytest.param(("rm", "*"), id="083-rm-star"),
    pytest.param(("rm", "-rf"), id="090-leading-dash"),
    pytest.param(("tool", "--unheard-of"), id="081-unknown-program"),
]


@pytest.mark.parametrize("argv", ESCALATING)
def test_a_command_is_asked_about_although_its_program_is_allowed(argv: tuple[str, ...]) -> None:
    rules = law(RUNS)
    for mode in ASKED_MODES:
        found = decide_request(command(*argv), rules, mode=mode, world=GateContext(used=BatchUsage()))

        assert (mode, found.verdict, found.rule) == (mode, "ask", "builtin.unknown_flags")
        assert found.risk >= 3, mode


@pytest.mark.parametrize(
    ("argv", "rule"),
    [
        pytest.param(("git", "grep", "-O", "x"), "builtin.git-executes", id="075-grep-pager"),
        pytest.param(("git", "grep", "-Otouch", "x"), "builtin.git-executes", id="075-grep-pager-joined"),
        pytest.param(("git", "grep", "-nOtouch", "x"), "builtin.git-executes", id="075-grep-pager-hidden"),
        pytest.param(("git", "grep", "--open-files-in-pager=x"), "builtin.git-executes", id="075-grep-pager-long"),
        pytest.param(("git", "ls-remote", "--upload-pack=cmd", "."), "builtin.git-executes", id="076-upload-pack"),
        pytest.param(("git", "fetch", "--upload-p=cmd"), "builtin.git-executes", id="081-upload-pack-abbreviated"),
        pytest.param(("git", "rebase", "--exec", "x"), "builtin.git-executes", id="080-git-rebase"),
        pytest.param(("git", "clone", "ext::sh -c x"), "builtin.git-executes", id="076-ext"),
        pytest.param(("cat", ".env"), "builtin.secret", id="178-cat-env"),
        pytest.param(("git", "show", "HEAD:.env"), "builtin.secret", id="178-git-show-env"),
        pytest.param(("git", "show", "HEAD~3:deploy/.env.prod"), "builtin.secret", id="178-git-show-history"),
        pytest.param(("cat", "src/../.env"), "builtin.secret", id="178-cat-roundabout"),
        pytest.param(("cat", "/home/u/.ssh/id_ed25519"), "builtin.secret", id="126-ssh-key"),
        pytest.param(("cat", "~/.ssh/id"), "builtin.secret", id="083-tilde"),
        pytest.param(("cat", "/proc/1/environ"), "builtin.secret", id="126-environ"),
        pytest.param((), "builtin.argv", id="085-empty"),
        pytest.param(("",), "builtin.argv", id="085-empty-program"),
        pytest.param(("ls", "a\0b"), "builtin.argv", id="085-nul"),
        pytest.param(("ls", "\ud800"), "builtin.argv", id="085-surrogate"),
        pytest.param(("ls", *["x"] * 100_000), "builtin.argv", id="086-many"),
        pytest.param(("ls", "x" * 4_000_000), "builtin.argv", id="086-long"),
        pytest.param(("env", *["true"] * 300), "builtin.argv", id="068-too-complex"),
    ],
)
def test_a_command_is_denied_although_its_program_is_allowed(argv: tuple[str, ...], rule: str) -> None:
    assert verdict(command(*argv), RUNS) == ("deny", rule)


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("git", "status", "&&", "touch", "pwned"), id="066-and"),
        pytest.param(("git", "status && touch pwned"), id="066-and-in-one-word"),
        pytest.param(("git", "statusx"), id="066-prefix"),
        pytest.param(("git", "status", ">", "pwned"), id="070-redirection"),
        pytest.param(("git", "status", "$(touch pwned)"), id="083-substitution"),
        pytest.param(("git",), id="066-less"),
        pytest.param(("./git", "status"), id="066-another-git"),
        pytest.param(("/tmp/git", "status"), id="066-git-elsewhere"),
    ],
)  # fmt: skip
def test_a_rule_without_wildcards_allows_the_very_command_and_nothing_like_it(argv: tuple[str, ...]) -> None:
    front = 'allow:\n  - run: ["git", "status"]'

    assert verdict(command("git", "status"), front)[0] == "allow"
    assert verdict(command(*argv), front)[0] == "ask"


def test_068_a_deny_holds_for_what_a_wrapper_runs() -> None:
    front = 'allow:\n  - run: ["env", "**"]\ndeny:\n  - run: ["curl", "**"]\n  - run: ["git", "push", "**"]'

    for argv in (
        ("curl", "x"),
        ("/usr/bin/curl", "x"),
        ("env", *["A=1"] * 50, "curl", "x"),
        ("timeout", "5", "curl", "x"),
    ):
        assert verdict(command(*argv), front) == ("deny", "user.deny.1")
    for argv in (
        ("git", "push"),
        ("git", "-C", "x", "push", "-f"),
        ("git", "-c", "a=b", "push"),
        ("sudo", "git", "push"),
    ):
        assert verdict(command(*argv), front) == ("deny", "user.deny.2")
    assert verdict(command("harmless", program="/usr/bin/curl"), front) == ("deny", "user.deny.1")


def test_088_a_program_in_the_worktree_is_not_the_one_that_a_bare_name_means() -> None:
    front = 'allow:\n  - run: ["pytest", "**"]\n  - run: ["./run", "{path}"]'
    mine = command("pytest", "-q", program="/w/venv/bin/pytest")

    assert verdict(mine, front) == ("ask", "builtin.runs_tree")
    assert (
        verdict(
            command("pytest", "-q", program="/w/venv/bin/pytest", cwd="/w/sub"), front, world=GateContext(worktree="/w")
        )[0]
        == "ask"
    )
    assert verdict(command("./run", "a/b", program="/w/run"), front)[0] == "allow"
    in_path = command("pytest", env={"PATH": "/usr/bin:/w/node_modules/.bin"})
    assert verdict(in_path, front) == ("ask", "builtin.path_in_worktree")
    assert verdict(command("pytest", env={"PATH": "/usr/bin::/bin"}), front) == ("ask", "builtin.path_in_worktree")


@pytest.mark.parametrize(
    ("cwd", "word"),
    [
        pytest.param("/w", "/w/customers/a", id="178-from-the-root"),
        pytest.param("/w/customers", "a", id="178-inside"),
        pytest.param("/w/src", "../customers/a", id="178-around"),
        pytest.param("/w/customers", "HEAD:./a", id="178-history"),
        pytest.param("/w", "--file=Customers/a", id="178-value-of-an-option"),
    ],
)
def test_a_file_that_is_denied_is_denied_however_a_command_names_it(cwd: str, word: str) -> None:
    front = 'allow:\n  - run: ["show", "**"]\ndeny:\n  - read: ["customers/**"]'

    assert verdict(command("show", word, cwd=cwd), front, world=GateContext(worktree="/w")) == ("deny", "user.deny.1")


def test_091_an_option_after_two_dashes_is_an_operand() -> None:
    assert verdict(command("git", "diff", "--", "--output=x"), RUNS)[0] == "allow"
    assert verdict(command("find", "--", "-delete"), RUNS)[0] == "ask"


def test_096_a_standing_approval_of_a_test_runner_is_void_when_the_tree_changed_and_nothing_confines_it() -> None:
    request = command("pytest", "-q", sandbox="L0")
    grant = make_grant(request, "argv", LATER, GrantContext("/w"))
    confined = command("pytest", "-q", sandbox="L1")

    assert grant_covers(grant, request, NOW, GrantContext("/w", executed_changed=False))
    assert not grant_covers(grant, request, NOW, GrantContext("/w", executed_changed=True))
    assert grant_covers(grant, confined, NOW, GrantContext("/w", executed_changed=True))
    front = 'allow:\n  - run: ["pytest", "-q"]'
    assert verdict(request, front) == ("ask", "builtin.no_sandbox")
    assert verdict(request, front, world=GateContext(executed_changed=False))[0] == "allow"


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({name: "x"}, id=f"{number}-{name}")
        for number, names in (
            ("098", "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE"),
            ("100", "GIT_EXTERNAL_DIFF GIT_SSH_COMMAND GIT_ASKPASS GIT_PAGER GIT_EXEC_PATH GIT_PROXY_COMMAND "
                    "GIT_TRACE"),
            ("101", "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PERL5OPT "
                    "RUBYOPT NODE_OPTIONS BASH_ENV ENV PROMPT_COMMAND IFS SHELLOPTS ld_preload"),
            ("105", "A=B A\0B \ud800 1A"),
        )
        for name in names.split(" ") if name
    ] + [
        pytest.param({"": "x"}, id="105-no-name"),
        pytest.param({"PATH": "/bin", "Path": "/x"}, id="105-twice"),
        pytest.param({"A": "x\0y"}, id="103-value-with-nul"),
        pytest.param({"A": "x" * 100_000}, id="103-long-value"),
    ],
)  # fmt: skip
def test_a_variable_that_changes_what_runs_is_denied(env: dict[str, str]) -> None:
    assert verdict(command("ls", env=env), RUNS) == ("deny", "builtin.environment")


def test_101_what_a_sandbox_sets_to_keep_git_quiet_is_no_attack() -> None:
    env = {"GIT_PAGER": "cat", "GIT_EDITOR": "false", "PATH": "/usr/bin:/bin", "LANG": "C", "PYTHONUNBUFFERED": "1"}

    assert verdict(command("ls", env=env), RUNS)[0] == "allow"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"v":1,"kind":"command","limits":{"seconds":%s}}' % number, id=f"115-{number.decode()}")
        for number in (b"NaN", b"Infinity", b"-Infinity", b"1e400")
    ]
    + [
        pytest.param(b'{"v":1,"kind":"command","limits":{"seconds":9007199254740993}}', id="116-big-integer"),
        pytest.param(b'{"v":1,"kind":"patch","kind":"command"}', id="x-double-key"),
        pytest.param(b'{"v":1,"kind":"command","argv":["\\ud800"]}', id="x-lone-surrogate"),
    ],
)
def test_a_request_that_two_readers_understand_differently_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid):
        parse_request(raw)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e400, 2**53, 1.5])
def test_115_116_such_numbers_have_no_digest(number: Any) -> None:
    with pytest.raises(Invalid):
        request_digest(command("ls", limits={"seconds": number}))


def test_118_two_spellings_of_one_letter_are_two_requests() -> None:
    assert request_digest(patch("caf\u00e9")) != request_digest(patch("cafe\u0301"))


def test_120_keys_are_ordered_by_code_units() -> None:
    raw = canonical_json({"\ufb33": 1, "\U0001f600": 2})

    assert raw.decode() == '{"\U0001f600":2,"\ufb33":1}'


def test_121_where_one_word_ends_and_the_next_begins_counts() -> None:
    assert request_digest(command("ls", "a", "bc")) != request_digest(command("ls", "ab", "c"))


@pytest.mark.parametrize("claim", ["requiresApproval", "risk", "policyTags", "approvalToken", "verdict"])
def test_123_a_request_has_no_place_for_what_an_agent_claims(claim: str) -> None:
    from gitnexus.policy.request import canonical_bytes

    raw = canonical_bytes(command("ls"))

    with pytest.raises(Invalid):
        parse_request(raw[:-1] + b',"' + claim.encode() + b'":0}')


def test_113_a_grant_holds_for_its_own_scope_and_place_only() -> None:
    once, session = (make_grant(patch("src/a.py"), scope, LATER) for scope in ("once", "session"))  # type: ignore[arg-type]

    assert grant_covers(once, patch("src/a.py"), NOW)
    assert not grant_covers(once, patch("src/a.py", result_tree="e" * 40), NOW)
    assert grant_covers(session, patch("src/a.py", result_tree="e" * 40), NOW)
    assert not grant_covers(session, patch("src/a.py", run="other"), NOW)
    assert not grant_covers(once.changed(scope="session"), patch("src/a.py"), NOW)
    path = make_grant(patch("src/a.py"), "path", LATER)
    assert grant_covers(path, patch("src/a.py", run="other"), NOW)
    assert not grant_covers(path, patch("src/a.py", project="other"), NOW)


def test_130_no_offer_for_a_command_reaches_beyond_that_command() -> None:
    request = command("echo", "hi")

    assert [offer.scope for offer in scopes_to_offer(request)] == ["once", "session", "argv"]
    for scope in ("session", "argv"):
        grant = make_grant(request, scope, LATER)  # type: ignore[arg-type]
        assert grant.argv == ("echo", "hi")
        for argv in (("echo", "hi", "there"), ("echo", "ho"), ("echo",), ("cat", "hi")):
            assert not grant_covers(grant, command(*argv), NOW)
    star = make_grant(command("ls", "*"), "argv", LATER)
    assert grant_covers(star, command("ls", "*"), NOW)
    assert not grant_covers(star, command("ls", "x"), NOW)


def test_131_deny_beats_ask_beats_allow_whatever_the_layer() -> None:
    rule = {verdict: f'{verdict}:\n  - write: ["src/**"]' for verdict in ("allow", "ask", "deny")}
    order = ("allow", "ask", "deny")

    for mine in order:
        for theirs in order:
            found = decide_request(patch("src/a.py"), law(rule[mine], rule[theirs], trusted=True))
            assert found.verdict == max(mine, theirs, key=order.index)


def test_133_a_project_that_is_not_trusted_only_tightens() -> None:
    loose = (
        'mode: bypass\nsandbox: {level: L0}\nallow:\n  - write: ["src/**"]\nedits: ["src/**"]\n'
        'autopilot: {allow: [{write: ["src/**"]}], budget: {files: 9999}}'
    )
    tight = 'sandbox: {minimum: L2}\ndeny:\n  - write: ["src/**"]\nask:\n  - write: ["docs/**"]'
    mine = 'allow:\n  - write: ["src/**", "docs/**"]'

    unsafe = compile_policy(None, policy(loose, "project"), bypass=True)
    assert (unsafe.mode, unsafe.level, unsafe.budget.files) == ("default", "auto", 20)
    for mode in ("default", "acceptEdits", "autopilot"):
        assert (
            decide_request(patch("src/a.py"), unsafe, mode=mode, world=GateContext(used=BatchUsage())).verdict == "ask"
        )
    safe = law(mine, tight)
    assert safe.minimum == "L2"
    assert decide_request(patch("src/a.py"), safe).verdict == "deny"
    assert decide_request(patch("docs/a.md"), safe).verdict == "ask"


def test_133_even_a_trusted_project_does_not_choose_bypass_or_loosen_the_users_mode() -> None:
    assert law("", "mode: bypass", trusted=True, bypass=True).mode == "default"
    assert law("mode: default", "mode: autopilot", trusted=True).mode == "default"
    assert law("", "mode: acceptEdits", trusted=True).mode == "acceptEdits"
    assert law("mode: autopilot", "mode: default", trusted=True).mode == "default"


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        pytest.param("src/**", "vendor/src/x", id="135-not-anchored"),
        pytest.param("dir/*", "dir/a/b", id="135-star-crosses"),
        pytest.param("*.md", "docs/a.md", id="135-no-slash"),
        pytest.param("src/**", "src", id="135-folder-itself"),
        pytest.param("src/?.py", "src/ab.py", id="135-one-letter"),
        pytest.param("src/**", "Src/x", id="136-case"),
        pytest.param("src/**", "srcx/x", id="135-prefix"),
        pytest.param("a/**/b", "a/xb", id="135-middle"),
    ],
)
def test_what_allows_reaches_no_further_than_written(rule: str, path: str) -> None:
    assert verdict(patch(path), f'allow:\n  - write: ["{rule}"]') == ("ask", "silence")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        pytest.param("dir/*", "dir/a/b", id="135-below"),
        pytest.param("*.md", "docs/a.md", id="135-any-depth"),
        pytest.param("secret", "a/secret/b", id="135-folder"),
        pytest.param("src/**", "SRC/x", id="136-case"),
        pytest.param("src/**", "src./x", id="136-trailing-dot"),
        pytest.param("caf\u00e9/**", "cafe\u0301/x", id="118-other-spelling"),
        pytest.param("src/x", "s\u200drc/x", id="x-invisible"),
    ],
)
def test_what_denies_reaches_whatever_it_may_mean(rule: str, path: str) -> None:
    front = f'deny:\n  - write: ["{rule}"]'

    assert verdict(patch(path), front) == ("deny", "user.deny.1")
    assert why_unreadable(law(front.replace("write", "read")), path) == "user.deny.1"


@pytest.mark.parametrize(
    "text", ["~/.aws/", "~//.aws/x", "$HOME/.aws", "a//b", "./a", "a/../b", "a/", "/a", "%2e%2e/a", "a\\\\b"]
)
def test_136_a_rule_is_spelled_as_requests_are(text: str) -> None:
    for verdict_ in ("deny", "ask", "allow"):
        with pytest.raises(Invalid):
            policy(f'{verdict_}:\n  - write: ["{text}"]')


@pytest.mark.parametrize("rule", ['write: [""]', "write: []", 'write: ["*"]', 'write: ["**"]', 'write: ["**/*"]',
                                  "run: []", 'run: [""]', 'run: ["*"]', 'run: ["**"]', 'run: ["{name}", "x"]', "{}",
                                  "kind: command", "kind: patch", "kind: policy_change", 'hosts: ["*"]',
                                  'handoff: ["*", "*"]'])  # fmt: skip
def test_138_nothing_allows_everything(rule: str) -> None:
    with pytest.raises(Invalid):
        policy(f"allow:\n  - {rule}")


@pytest.mark.parametrize(
    "rule", ['write: ["*"]', 'write: ["**"]', 'run: ["*"]', 'run: ["**"]', "kind: command", 'hosts: ["*"]']
)
def test_138_but_everything_can_be_denied(rule: str) -> None:
    assert policy(f"deny:\n  - {rule}").rules


def test_140_an_approval_is_for_the_role_it_was_given_to() -> None:
    grant = make_grant(command("make", role="planner"), "argv", LATER)

    assert grant_covers(grant, command("make", role="planner"), NOW)
    assert not grant_covers(grant, command("make", role="executor"), NOW)
    assert not grant_covers(grant, command("make"), NOW)
    assert not grant_covers(make_grant(command("make"), "argv", LATER), command("make", role="executor"), NOW)
    front = 'allow:\n  - run: ["ls"]\n    role: planner\ndeny:\n  - run: ["cat"]\n    role: executor'
    assert verdict(command("ls", role="planner"), front)[0] == "allow"
    assert verdict(command("ls", role="executor"), front)[0] == "ask"
    assert verdict(command("ls"), front)[0] == "ask"
    assert verdict(command("cat", role="executor"), front)[0] == "deny"
    assert verdict(command("cat"), front)[0] == "deny"


def test_140_a_handoff_in_one_direction_and_workflow_is_no_other() -> None:
    grant = make_grant(handoff(), "workflow", LATER)

    assert grant_covers(grant, handoff(run="r2"), NOW)
    assert not grant_covers(grant, handoff("executor", "planner"), NOW)
    assert not grant_covers(grant, handoff(workflow="other"), NOW)
    assert not grant_covers(make_grant(handoff(workflow=""), "workflow", LATER), handoff(workflow=""), NOW)


def test_141_forty_small_patches_are_one_large_one() -> None:
    ruled = law('autopilot:\n  allow:\n    - write: ["src/**"]\n  budget: {files: 30, directories: 100, risk: 1000}')
    used, verdicts = BatchUsage(), []

    for number in range(40):
        request = patch(f"src/d{number}/x.py")
        found = decide_request(request, ruled, mode="autopilot", world=GateContext(used=used))
        verdicts.append(found.verdict)
        if found.verdict == "allow":
            used = used.after(request, found.risk)

    assert verdicts == ["allow"] * 30 + ["ask"] * 10
    assert decide_request(patch("src/d1/x.py"), ruled, mode="autopilot").rule == "mode.autopilot"
    assert (
        decide_request(patch("src/conftest.py"), ruled, mode="autopilot", world=GateContext(used=BatchUsage())).verdict
        == "ask"
    )


def test_the_law_itself_is_asked_about_in_every_mode() -> None:
    request = PolicyRequest(project="p", run="r", path="policy.md", old_digest="a", new_digest="b")

    for mode in ("default", "acceptEdits", "autopilot", "bypass"):
        found = decide_request(
            request, law(GENEROUS, None, bypass=True), mode=mode, world=GateContext(used=BatchUsage())
        )
        assert (found.verdict, found.risk) == ("ask", 4)
