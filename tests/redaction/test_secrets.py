"""Secrets are found by rule and line, and their values go nowhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.redaction import Hidden, Redacted, Redactor, Reveal, SecretFinding, find_secrets, mask, redact
from gitnexus.redaction.result import SecretLocation
from gitnexus.redaction.rules import FAMILIES, RULES, SecretRule
from gitnexus.redaction.scan import find_spans, make_searcher, merge_spans

WEAK, STRONG = "hunter" + "22", "a1B2c3D4" + "e5F6g7H8"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "redaction-rules.md"


def line_of(rule: SecretRule) -> tuple[str, str]:
    """Return a line with the example of a rule in it, and the same line as it should be shown."""
    before, _, after = rule.example_pieces
    start, end = ("", "") if rule.pattern.startswith(("^", "(?i)^")) else ("  note: ", " # and more")
    return f"{start}{rule.example}{end}", f"{start}{before}[{rule.name}]{after}{end}"


def test_there_are_more_than_two_hundred_rules_and_each_has_its_own_name() -> None:
    assert len(RULES) > 200
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_each_rule_hides_its_example_and_nothing_else_of_the_line() -> None:
    expected, actual = {}, {}
    for rule in RULES:
        line, shown = line_of(rule)
        expected[rule.name] = shown, [SecretFinding(rule.name, 7)]
        actual[rule.name] = mask(line), find_secrets([(7, line)])

    assert {name: seen for name, seen in actual.items() if seen != expected[name]} == {}


def test_a_short_text_and_a_long_one_are_judged_alike() -> None:
    for rule in RULES:
        line = line_of(rule)[0].encode()
        search = make_searcher(line)

        assert search is not None, rule.name
        assert merge_spans(search(line), line) == merge_spans(find_spans(line), line), rule.name


BEFORE = ["\\n", "\x1b[01;31m", "%22", "x=", "('", '\\"', "\u00fc", "_"]


def test_a_token_is_found_after_whatever_may_stand_before_it() -> None:
    secrets = {rule.name: rule.example_pieces[1] for rule in RULES if not rule.regex and not rule.vendor}

    assert secrets
    assert [
        (name, before)
        for name, secret in secrets.items()
        for before in BEFORE
        if secret in mask(f"text {before}{secret} text")
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        "token = os.environ['TOKEN']",
        "password: str",
        'secret = "<your secret here>"',
        "https://example.com/path?x=1",
        "git clone ssh://git@host/repo.git",
        "api_key = get_api_key(config)",
        "the tokens of a sentence",
        'password = "${DB_PASSWORD}"',
        "sk-learn is a library",
        "password = self.password_from_config",
        "token_type = 'bare-quoted-string'",
        "PASSWORD=$1",
        "the password is changed by the user, see chapter 12",
        "http://localhost:8080/a@b",
        "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        "sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f9012345670a1b2c3d4e5f607182930a1b",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "from x import api, auth, key",
        "mysql -p app",
        "private_key: Ed25519PrivateKey | None",
        "postgres://user:password@host/db",
        "token_sha256: 0a1b2c3d4e5f60718293a4b5c6d7e8f9012345670a1b2c3d4e5f607182930a1b",
    ],
)
def test_ordinary_lines_are_left_in_peace(line: str) -> None:
    assert find_secrets([(1, line)]) == []
    assert mask(line) == line
    assert find_spans(line.encode()) == []


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("postgres://app:p@ss:w0rd@db/app", "postgres://app:[password-in-url]@db/app"),
        ("https://me:hunter22@[::1]/x", "https://me:[password-in-url]@[::1]/x"),
        ("Authorization: Basic dXNlcjpodW50ZXIyMg==", "Authorization: Basic [authorization-header]"),
        ('{"authorization": "token a1B2c3D4e5"}', '{"authorization": "token [authorization-header]"}'),
        ("DB_PASSWORD=hunter22", "DB_PASSWORD=[environment-secret]"),
        ("db.password: hunter22", "db.password: [password-line]"),
        ("default login me password hunter22", "default login me password [netrc-password]"),
        ("password=" + WEAK + " next", "password=[named-value] next"),
        ("password=passwd22 next", "password=passwd22 next"),
        ("app(host, password=user.password2, token=TOKEN_22)", "app(host, password=user.password2, token=TOKEN_22)"),
        ("a --token=a1B2c3D4e5 b", "a --token=[password-option] b"),
        ("a.yml:3:  password: " + WEAK, "a.yml:3:  password: [password-behind]"),
        ("2026-11-18 12:00 INFO db_password=" + WEAK, "2026-11-18 12:00 INFO db_password=[password-behind]"),
        ("ENV DB_PASSWORD " + WEAK, "ENV DB_PASSWORD [variable-line]"),
        ("SetEnv FOO_TOKEN " + WEAK, "SetEnv FOO_TOKEN [variable-line]"),
        ("app token OC|" + "1234567890123456|" + "a1B2c3D4" * 4, "app token [oculus-token]"),
        ("- name: API_KEY\n  value: " + STRONG + "\n", "- name: API_KEY\n  value: [named-secret]\n"),
        ("name: TOKEN\n# why\nvalue: " + STRONG, "name: TOKEN\n# why\nvalue: [named-secret]"),
        ("name: TOKEN\nother: x\n" + STRONG, "name: TOKEN\nother: x\n" + STRONG),
    ],
)
def test_secrets_that_are_known_by_their_place(line: str, shown: str) -> None:
    assert mask(line) == shown


def test_a_name_on_the_line_above_tells_a_secret_however_the_stream_is_cut() -> None:
    text = ("x = 1\n" * 9000 + "  - name: DB_PASSWORD\n    value: " + STRONG + "\n").encode()

    for size in (1000, 65536, len(text)):
        stream = Redactor()
        shown = b"".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size)) + stream.finish()
        assert shown == text.replace(STRONG.encode(), b"[named-secret]")
    assert find_secrets([(4, "name: DB_PASSWORD"), (5, f"value: {STRONG}")]) == [SecretFinding("named-secret", 5)]


def test_the_first_rule_of_a_line_is_told_once() -> None:
    line = "AKIA" + "QXZ7" * 4 + " AKIA" + "QXZ7" * 4

    assert find_secrets([(3, line)]) == [SecretFinding("aws-access-key-id", 3)]


def test_neighbours_that_share_a_sign_are_both_hidden() -> None:
    key = "AKIA" + "QXZ7" * 4

    assert mask(f"{key},{key}") == "[aws-access-key-id],[aws-access-key-id]"


def test_the_result_says_how_much_is_hidden() -> None:
    token, key = "ghp_" + "a1B2c3" * 6, "-----BEGIN " + "PRIVATE KEY-----\nMII\n-----END " + "PRIVATE KEY-----"

    shown = redact(f"{token}\n{token}\n{key}\nend")

    assert shown == Redacted(
        "[github-token]\n[github-token]\n[private-key]\nend", (Hidden("github-token", 2), Hidden("private-key", 1))
    )
    assert shown.describe() == "3 secrets hidden (2 github-token, 1 private-key)"
    assert redact("nothing here").describe() == ""


def test_the_result_says_where_what_is_hidden_stood() -> None:
    token, key = "ghp_" + "a1B2c3" * 6, "-----BEGIN " + "PRIVATE KEY-----\nMII\n-----END " + "PRIVATE KEY-----"

    shown = redact(f"x\n{token}\n{key}\nend {token}")

    size = len(token)
    assert shown.places == (
        SecretLocation("github-token", 2, size, 2),
        SecretLocation("private-key", 3, len(key), 3 + size),
        SecretLocation("github-token", 4, size, 3 + size + len(key) + len("\nend ")),
    )


def test_a_text_that_somebody_asked_to_see_carries_the_reason() -> None:
    token, why = "ghp_" + "a1B2c3" * 6, Reveal("the test fixture holds a made-up token")

    assert redact(token, reveal=why) == Redacted(token, (), why)


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    assert mask(mask(text)) == mask(text)


# A mark before a sign of assignment is a name that speaks of a secret, like any other: then more is hidden.
UNASSIGNED = st.text(st.characters(exclude_characters=":=,"), max_size=20)


@given(st.lists(st.sampled_from(RULES), min_size=1, max_size=4), UNASSIGNED)
def test_masking_again_changes_nothing(rules: list[SecretRule], between: str) -> None:
    once = mask(between.join(f" {rule.example} " for rule in rules))

    assert mask(once) == once


@given(st.binary())
def test_bytes_that_are_no_text_stay_as_they_are(raw: bytes) -> None:
    shown = redact(b"\xff\xfe " + raw)

    assert shown.hidden or shown.text == b"\xff\xfe " + raw


def test_importing_the_room_and_a_text_without_secrets_need_no_library() -> None:
    code = (
        "import sys; from gitnexus.redaction import mask, find_secrets; mask('a plain text\\n' * 99);"
        "find_secrets([(1, 'key = \\'AKIA' + 'QXZ7' * 4 + '\\'')]);"
        "print({'re2', 'ahocorasick'} & set(sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_short_text_compiles_only_the_rules_whose_words_it_holds() -> None:
    code = (
        "from gitnexus.redaction import find_secrets; from gitnexus.redaction.rules import RULES;"
        "print(find_secrets([(1, 'AKIA' + 'QXZ7' * 4)])[0].rule, sum('plain' in vars(rule) for rule in RULES))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert done[0] == "aws-access-key-id"
    assert int(done[1]) < 5


def test_a_long_secret_is_one_at_its_shortest() -> None:
    for rule in RULES:
        if rule.is_long:
            assert re.search(r"[A-Za-z0-9_+/=.~:!$-]{14}", rule.example_pieces[1]), rule.name


def test_the_page_lists_every_rule() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert re.findall(r"^\| `([a-z0-9-]{3,})` ", page, re.MULTILINE) == [
        rule.name for family in FAMILIES.values() for rule in family
    ]
