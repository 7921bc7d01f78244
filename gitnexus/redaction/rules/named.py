"""Redaction rules for secrets recognised by a name such as `token` in the line and a value that looks random."""

import re
from itertools import pairwise

from gitnexus.redaction.rule import SecretRule, regexp
from gitnexus.redaction.rules.generic import is_likely_secret, may_be_secret

BY_NAME = "named-secret"
_OF_KEY = (
    "api|app|access|account|admin|auth|authorization|client|consumer|decryption|deploy|encryption|hmac|license|master|private|"
    "secret|service|session|shared|signing|storage|subscription|webhook"
)
# A name that tells, and what may follow it without making it something else: `token_2`, not `token_hash`.
NAME = (
    rf"(?:token|secret|pass(?:w(?:or)?d|wd|phrase)?|pwd|credentials?|[_-]pat|(?:{_OF_KEY})[ _.-]?key)"
    r"(?:[_.-]?(?:key|base|value|string|base64|b64|hex|secret|token|prod|production|staging|dev|test|live|[0-9]{1,3})){0,2}"
)
_QUOTES = r"[\"'`\\]{0,9}"
_BLANKS = r"[ \t]{0,20}"
_VALUE = r"[A-Za-z0-9+/=_.~:|!@#%^*?-]"
# Between the name and its value: a sign or blanks, attributes of markup, the word `value`, a call around it.
_BETWEEN = (
    rf"{_QUOTES}\]?(?:[ \t]{{1,20}}(?:is[ ])?|{_BLANKS}(?:=>|:=|[=:,>]){_BLANKS})"
    rf"(?:[\w-]{{1,20}}=[\"'][\w-]{{1,40}}[\"'][ ]{{1,4}}){{0,2}}"
    rf"(?:[{{]?{_BLANKS}{_QUOTES}(?i:value|default){_QUOTES}{_BLANKS}[:=]{_BLANKS})?"
    rf"(?:[A-Za-z_][\w.:]{{0,30}}[(\[{{][ ]?|[(\[{{][ ]?|[bBfFrRuU])?{_QUOTES}"
)
# A name that ends here, and later on the line something that is no letter: no rule below matches without it.
_FILTER = rf"(?i:{NAME})[\"'`\\\] \t=:,>][^\n]*?[0-9!@#%^&*+=?~]"
_WORDS = "token secret pass pwd credential key _pat -pat"
_PREFIX = (
    # Of a search or a diff, of a log, and the word of a file that sets variables.
    r"(?:[\w./@-]{1,200}[:-][0-9]{1,7}[:-])?[ \t+>-]{0,40}"
    r"(?:[^\x00-\x1f\"'=]{0,80}\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)[\]:]{0,2}[ \t]{1,8})?"
)
# `Ed25519PrivateKey`: a number and words, the last of which is one that code has; `Summer2024Rain` may be a password.
_TYPE = (
    rb"(?:[A-Za-z]{1,8}[0-9]{1,6}){1,3}(?:[A-Z][a-z]+){0,5}"
    rb"(?:Key|Token|Secret|Password|Pass|Credential|Hash|Digest|Code|String|Bytes|Text|Cert|Certificate|Client|Provider|"
    rb"Signer|Signature|Config|Type|Grant|Handler|Request|Response|Error|Exception|Policy|Manager|Session|Auth|Encoder|"
    rb"Decoder|Cipher|Algorithm|Factory|Generator|Parameters|Info|Data|Name|Value|Model|Schema|Spec|Id|Ref|Source)s?"
)
# What code has after such a name: `TOKEN_2`, `a.b`, `by-name-2`, `*args`, `str?`, a number, a colour, a pattern.
_OF_CODE = (
    rb"[A-Z0-9_]+|[\w.-]*\.[\w.]*|[A-Za-z]+[0-9]{0,3}(?:[_-][A-Za-z0-9_]+)+|\*+\w+|\w+[?:*]+|0x\w+|"
    rb"#[0-9A-Fa-f]{3,8}|/\^.*"
)
# `passwd2`, `userKey1`: a variable that is called for what it holds.
_VARIABLE = rb"(?i)[a-z_]*(?:pass|pwd|token|secret|key|cred|auth|user|test|str|value|arg)[a-z_]*[0-9]{0,3}"
_SETS = r"(?:ENV|ARG|export|set(?:[ ]-[a-z]{1,3})?|setenv|SetEnv|fastcgi_param)"


def random(value: bytes) -> bool:
    """Return True if the value looks random: letters and digits mixed throughout, unlike any word or name."""
    if not is_likely_secret(value) or not re.search(rb"[0-9]", value) or re.fullmatch(_TYPE, value):
        return False
    kinds = [_kind(byte) for byte in value if byte < 0x80 and chr(byte).isalnum()]
    changes = sum(before != after for before, after in pairwise(kinds))
    return len(kinds) >= 14 and changes * 5 >= len(kinds)


def looks_chosen(value: bytes) -> bool:
    """Return True if a short value may be a password: not a variable, constant, file or pattern."""
    return may_be_secret(value) and not any(re.fullmatch(form, value) for form in (_OF_CODE, _VARIABLE, _TYPE))


def _kind(byte: int) -> int:
    return 0 if byte <= 0x39 else 1 if byte <= 0x5A else 2


RULES: tuple[SecretRule, ...] = (
    regexp("password-behind", "pass pwd secret api_key apikey token _pat",
            rf"(?i)^{_PREFIX}[\"']?[\w.-]{{0,40}}{NAME}[\"']?{_BLANKS}[:=]{_BLANKS}"
            r"[\"']?(?P<secret>[^\x00-\x20\"'`<>{}$()\[\],;|&\\#]{8,})[\"']?[ \t\r]{0,8}$",
            ("config.yml:3:password: ", "hunter22", ""), "config.yml:3:password: …", may_be_secret,
            before=_FILTER),
    regexp("variable-line", _WORDS,
            rf"^{_PREFIX}{_SETS}[ \t]{{1,8}}(?i:[\w.-]{{0,40}}{NAME})[ \t]{{1,8}}"
            r"(?P<secret>[^\x00-\x20\"'`<>{}$()\[\],;|&\\#=]{6,});?[ \t\r]{0,8}$",
            ("ENV DB_PASSWORD ", "hunter22", ""), "ENV DB_PASSWORD …", may_be_secret,
            before=_FILTER),
    regexp(BY_NAME, _WORDS,
            rf"(?i:{NAME}){_BETWEEN}(?P<secret>{_VALUE}{{16,}})",
            ("DEBUG: api_key=", "Zq3x9Lm2Vb7TaK4w", ""), "DEBUG: api_key=…", random,
            before=_FILTER),
    # Anywhere in a line, as in a log: short values, too.
    regexp("named-value", _WORDS,
            rf"(?i:{NAME})[\"'\\]{{0,3}}(?:=|:[ ]?|[ ]=[ ]|[ ]->[ ])[\"'\\]{{0,3}}"
            r"(?P<secret>[A-Za-z0-9+/_~!@#%^*?-][A-Za-z0-9+/=_.~:!@#%^*?-]{6,}?)"
            r"[.]{0,3}(?:[\"'\\)\],;}&<> \t\r]|$)",
            ("level=debug password=", "hunter22", " port=80"), "… password=… …", looks_chosen,
            before=_FILTER),
)  # fmt: skip
