"""Values that are known are hidden in the forms in which they travel, and ordinary words are not taken for one."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.redaction import Redactor, Values, mask, redact

SECRET = 'tr0ub4dor&3 "x"/ü'


def shown(text: str, *secrets: str) -> str:
    return mask(text, Values.of(secrets or [SECRET]))


@given(st.text(max_size=7), st.text(max_size=7))
def test_base64_of_a_text_around_it_hides_it_at_every_place(before: str, after: str) -> None:
    secret = "a1B2c3" + "D4e5F6g7H8i9"
    raw = (before + secret + after).encode("utf-8", "surrogatepass")

    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert "[known-value]" in shown(f"x {encode(raw).decode()} y", secret)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
    ],
)
def test_plain_hex_url_and_json_forms_are_hidden(form: str) -> None:
    assert shown(f"a {form} b") == "a [known-value] b"


def test_letters_that_are_escaped_for_no_reason_hide_nothing() -> None:
    assert shown("a \\u0074r0ub4dor-%33x b", "tr0ub4dor-3x") == "a [known-value] b"


def test_a_value_that_an_encoder_wrapped_is_hidden() -> None:
    wrapped = base64.encodebytes(b"x" * 50 + b"a1B2c3D4e5F6g7H8i9" + b"y" * 50).decode()

    assert "[known-value]" in shown(wrapped, "a1B2c3D4e5F6g7H8i9")


def test_values_that_overlap_are_hidden_as_one() -> None:
    assert shown("-abcdef123456xyz-", "abcdef123456", "123456xyz") == "-[known-value]-"


def test_names_of_the_environment_that_look_secret_are_known_and_others_are_not() -> None:
    found = Values.from_environment(
        {
            "GITHUB_TOKEN": "a1B2c3" + "D4e5F6",
            "DB_PASSWORD": "hunter" + "22",
            "DATABASE_URL": "postgres://app:" + "s3cr3t-pw@db/app",
            "STRIPE_KEY": "k3y-0f-str1pe",
            "PATH": "/usr/bin:/bin",
            "SSH_KEY_PATH": "/home/me/.ssh/id_x1234567",
            "TOKEN_FILE": "some-file-1234",
            "USE_TOKEN": "true",
            "API_KEY": "short",
            "POSTGRES_PASSWORD": "postgres",
            "KEYBOARD": "us-intl-1234",
            "SECRET_DIR": "~/secrets",
        }
    )

    text = "a1B2c3D4e5F6 hunter22 s3cr3t-pw k3y-0f-str1pe postgres us-intl-1234 some-file-1234 true"
    assert mask(text, found) == (
        "[known-value] [known-value] [known-value] [known-value] postgres us-intl-1234 some-file-1234 true"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".netrc", "machine a.example\n  login me\n  password " + "a1B2c3D4\n"),
        (".env", "# note\nexport APP_SECRET='a1B2c3D4'\nNAME=x\n"),
        ("credentials", "[default]\naws_access_key_id = x\naws_secret_access_key = a1B2c3D4\n"),
        (".npmrc", "//registry.example/:_authToken=" + "a1B2c3D4\n"),
        (".pypirc", "[pypi]\nusername = me\npassword: a1B2c3D4\n"),
        (".git-credentials", "https://me:" + "a1B2c3D4@git.example\n"),
        (".pgpass", "db:5432:app:me:a1B2c3D4\n"),
        ("config.json", '{"auths": {"r.example": {"auth": "a1B2c3D4"}}}'),
        ("kubeconfig", "users:\n- name: me\n  user:\n    token: a1B2c3D4\n"),
        ("id_rsa", "-----BEGIN " + "PRIVATE KEY-----\n" + "a1B2c3D4" * 8 + "\n-----END " + "PRIVATE KEY-----\n"),
    ],
)
def test_secrets_of_credential_files_are_known(name: str, text: str) -> None:
    found = Values.from_file(f"/home/me/{name}", text)

    assert "a1B2c3D4" not in mask("see " + "a1B2c3D4" * (8 if name == "id_rsa" else 1), found)


def test_values_are_counted_and_never_printed() -> None:
    known = Values.of(["a1B2c3D4e5F6"]) | Values.of(["hunter22"])

    assert len(known) == 2
    assert "hunter22" not in repr(known)
    assert redact("x hunter22", known).describe() == "1 secret hidden (1 known-value)"
    assert not Values.of(["", "short", "true", "12345678", "/usr/bin/env"])


@given(st.binary(max_size=60), st.integers(0, 60))
def test_a_value_is_hidden_over_any_border(around: bytes, at: int) -> None:
    text = around + b" a1B2c3D4e5F6 " + around
    stream = Redactor(Values.of(["a1B2c3D4e5F6"]))

    assert b"a1B2c3D4e5F6" not in stream.feed(text[:at]) + stream.feed(text[at:]) + stream.finish()


@given(st.text(), st.text())
def test_any_file_can_be_read(name: str, text: str) -> None:
    Values.from_file(name, text)
    Values.from_file(".netrc", text)
    Values.from_file("x.json", "{" + text)
    Values.from_file("pgpass", text)
