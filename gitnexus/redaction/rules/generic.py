"""Redaction rules for secrets recognised by their position: in URLs, headers, command-line options and assignments."""

import re

from gitnexus.redaction.rule import ASSIGNMENT, SecretRule, regexp

_NAMES = r"(?:secret|passw(?:or)?d|passwd|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|credential)"
_WORDS = "secret passw token api_key apikey api-key access_key accesskey access-key"
_USERINFO = r"://[^\x00-\x20/\"'<>]*@"
# Code and prose have these in place of a value.
_STAND_IN = (
    rb"(?i)example|placeholder|change.?me|your[_-]|dummy|redacted|<|\.\.\.|\xe2\x80\xa6|xxxx|\*\*\*|not.?a.?secret|"
    rb"^(?:true|false|none|null|undefined|self|this|process|os|env|ctx|args|config|settings|options|request)\b"
)
# What people write for a password where they show how an address or a file looks.
_BLANK = rb"(?i)(?:pass(?:word|wd)?|pwd|\xe2\x80\xa6|\.{3}|\*{3,}|x{3,}|\[[a-z0-9-]+\])[\"'`|]*"
_CODE = rb"[A-Za-z_][A-Za-z0-9]*(?:[_.:]+[A-Za-z][A-Za-z0-9]*)+|[a-z]+(?:[A-Z][a-z]+)+[0-9]?|[./~][\w./-]*|[0-9.:+TZ-]+"
_LETTER, _NO_LETTER = rb"[A-Za-z]", rb"[0-9!@#%^&*+=?~]"


def may_be_secret(value: bytes) -> bool:
    """Return True if a value may be a secret: letters with digits or signs, not an identifier, not a placeholder."""
    return bool(re.search(_LETTER, value) and re.search(_NO_LETTER, value)) and is_likely_secret(value)


def is_likely_secret(value: bytes) -> bool:
    """Return True unless the value is an identifier or a placeholder."""
    return (not re.fullmatch(_CODE, value) or _looks_random(value)) and is_not_placeholder(value)


def _looks_random(value: bytes) -> bool:
    """Return True for a value that looks like a dotted name but has digits throughout, as no name has."""
    return len(value) >= 20 and len(re.findall(rb"[0-9]+", value)) >= 3 and value.lower() != value != value.upper()


def is_not_placeholder(value: bytes) -> bool:
    """Return True unless the value is a placeholder."""
    return len(set(value)) > 3 and not re.search(_STAND_IN, value)


def filled(value: bytes) -> bool:
    """Return True unless the value is the word password or a placeholder: here the position alone shows a secret."""
    return re.fullmatch(_BLANK, value) is None


RULES: tuple[SecretRule, ...] = (
    regexp("password-in-url", "://",
            r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\x00-\x20/:@\"'<>{}$`]{0,100}:(?P<secret>[^\x00-\x20/\"'<>{}"
            r"$`]{3,200})@[\w.\[-]",
            ("postgres://app:", "hunter22", "@db.internal/app"), "scheme://user:…@host", filled,
            before=_USERINFO),
    regexp("token-in-url", "://", r"[A-Za-z][A-Za-z0-9+.-]{0,30}://(?P<secret>[A-Za-z0-9_-]{20,255})@[\w.-]",
            ("https://", "a1B2c3D4" * 3, "@git.example/a.git"), "scheme://…@host", may_be_secret,
            before=_USERINFO),
    regexp("secret-in-query", "token= ?key= &key= api_key= apikey= secret= password= signature= passwd= pwd=",
            r"(?i)[?&](?:[\w-]{0,30}(?:token|api_?key|secret|password|passwd|pwd|signature)|key)="
            r"(?P<secret>[^\x00-\x20&\"'<>{}$#;`)\]\\]{8,})",
            ("https://a.example/x?id=1&access_token=", "a1B2c3D4e5F6", "&y=2"), "?access_token=…", may_be_secret,
            before=ASSIGNMENT),
    regexp("authorization-header", "authorization",
            r"(?i)authorization[\"'\\]{0,2}[ \t]{0,4}[:=,][ \t]{0,4}[\"'\\]{0,2}(?:(?:bearer|basic|token|digest|"
            r"negotiate|apikey|ssws|aws4-hmac-sha256)[ \t]{1,4})?"
            r"(?P<secret>[A-Za-z0-9._~+/=:-]{8,})",
            ("Authorization: Bearer ", "a1B2c3D4e5F6", ""), "Authorization: Bearer …", may_be_secret,
            before=ASSIGNMENT),
    regexp("bearer-token", "bearer", r"(?i)\bbearer[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
            ("-H 'bearer ", "a1B2c3D4e5F6g7H8", "'"), "bearer …", may_be_secret,
            before=r"(?i:earer)[ \t]{1,4}[A-Za-z0-9._~+/=-]{16}"),
    regexp("basic-authorization", "basic", r"\b[Bb]asic[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{15,}={0,2})(?:[^\w+/=]|$)",
            ("proxy: Basic ", "dXNlcjpodW50ZXIyMg" + "==", ""), "Basic …", may_be_secret,
            before=r"asic[ \t]{1,4}[A-Za-z0-9+/]{15}"),
    regexp("key-header", "x-api x-auth x-access private-token x-vault x-amz-security",
            r"(?i)\b(?:x-(?:[\w-]{0,20}(?:api-?key|auth|token|secret)[\w-]{0,12})|private-token)[\"'\\]{0,2}"
            r"[ \t]?[:=,][ \t]?[\"'\\]{0,2}"
            r"(?P<secret>[A-Za-z0-9._~+/=:-]{8,})",
            ("X-Api-Key: ", "a1B2c3D4e5F6", ""), "X-Api-Key: …", may_be_secret,
            before=ASSIGNMENT),
    regexp("cookie", "cookie",
            r"(?i)\b(?:set-)?cookie[\"']?[ ]?:[ ]?[\"']?(?:[^\x00-\x1f]{0,500}[; ])??"
            r"[\w.-]{0,40}(?:sess|sid|auth|token|jwt|csrf)[\w.-]{0,40}=(?P<secret>[^\x00-\x20;\"']{12,})",
            ("Set-Cookie: sessionid=", "a1B2c3D4e5F6", "; Path=/"), "Cookie: session=…", may_be_secret),
    regexp("netrc-password", "password",
            r"\b(?:machine|login)[ \t]{1,8}[^\x00-\x20]{1,200}[ \t]{1,8}(?:login[ \t]{1,8}[^\x00-\x20]{1,200}"
            r"[ \t]{1,8})?password[ \t]{1,8}(?P<secret>[^\x00-\x20]{3,})",
            ("machine git.example login me password ", "hunter22", ""), "machine … login … password …", filled,
            before=r"password[ \t]"),
    regexp("netrc-password-line", "password",
            r"^[ \t+]{0,8}password[ \t]{1,8}(?P<secret>[^\x00-\x20(){}\[\]<>,;\"'=]{6,})[ \t\r]{0,8}$",
            ("  password ", "hunter22", ""), "password … on a line by itself", may_be_secret,
            before=r"password[ \t]"),
    regexp("password-option", "--pass --token --secret --api --auth --pwd",
            r"(?i)--[\w-]{0,30}(?:passw(?:or)?d|passphrase|passwd|pwd|token|secret|api-?key)(?:=|[\"',]{0,3}"
            r"[ \t]{1,2}[\"']?)"
            r"(?P<secret>[^\x00-\x20\"'${}<>()\[\]`,;]{8,})",
            ("tool --password ", "hunter22", " --host db"), "--password …", may_be_secret,
            before=r"--[\w-]{0,30}(?i:pass|pwd|token|secret|api)"),
    regexp("password-in-command", "curl wget mysql mariadb sshpass redis-cli login openssl",
            r"\b(?:(?:curl|wget)\b[^\x00-\x1f|;]{0,300}?[ ](?:-u|--user)[ =]?[\"']?[^\x00-\x20:\"'@]{1,100}:"
            r"|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\x00-\x1f|;]{0,300}?[ ]-p[\"']?|sshpass[ ]-p[ ]?[\"']?|"
            r"redis-cli\b[^\x00-\x1f|;]{0,200}?[ ]-a[ ]|(?:docker|podman|helm|az|oc)[ ][\w ]{0,20}login\b[^\x00-\x1f|;]"
            r"{0,200}?[ ]-p[ =]?[\"']?|openssl\b[^\x00-\x1f|;]{0,300}?[ ]-pass(?:in|out)?[ ]pass:)"
            r"(?P<secret>[^\x00-\x20\"'${}<>`]{4,})",
            ("curl -s -u me:", "hunter22", " https://a.example"), "curl -u user:…", is_not_placeholder,
            before=r"[ ](?:-u|--user|-p|-a)"),
    regexp("assigned-secret", _WORDS,
            rf"(?i){_NAMES}(?:[_-]?(?:key|value|string|base64|b64|hex|[0-9]{{1,3}}))?[\"'\\]{{0,2}}"
            rf"\]?[ \t]{{0,8}}(?::=|=>|[:=])[ \t]{{0,8}}"
            rf"\\?[\"'`](?P<secret>[^\x00-\x20\"'`<>{{}}$()\\]{{12,}})\\?[\"'`]",
            ("api_key = '", "Zq3x9Lm2Vb7T", "'"), "api_key = '…'", is_likely_secret,
            before=ASSIGNMENT),
    regexp("quoted-password", "passw pwd",
            r"(?i)(?:passw(?:or)?d|passwd|pwd)[\"']{0,2}\]?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
            r"[\"'](?P<secret>[^\x00-\x20\"'<>{}$()%\\]{6,})[\"']",
            ("password: '", "hunter22", "'"), "password: '…'", may_be_secret,
            before=ASSIGNMENT),
    regexp("environment-secret", _WORDS + " pwd pass= pass_ _key=",
            r"(?:^|[^\w.-])(?:[A-Z][A-Z0-9]{0,30}_){0,6}(?:SECRET|(?:PG|SSH)?PASSWORD|PASSWD|(?:SSH)?PASS|PWD|TOKEN|API_?KEY|"
            r"ACCESS_?KEY|PRIVATE_?KEY|AUTH_?KEY|ENCRYPTION_?KEY|SIGNING_?KEY|MASTER_?KEY|CREDENTIALS?)"
            r"(?:_[A-Z0-9]{1,30}){0,3}=(?P<secret>[^\x00-\x20\"'`<>{}$()\[\],;|&\\]{6,})",
            ("export DB_PASSWORD=", "hunter22", ""), "DB_PASSWORD=…", may_be_secret,
            before=ASSIGNMENT),
    regexp("token-parameter", "token=",
            r"(?i)(?:^|[^\w.-])(?:(?:access|auth|refresh|id|session|api|bearer)[_-]?)?token="
            r"(?P<secret>[A-Za-z0-9_~+/=-]{20,})",
            ("body: access_token=", "a1B2c3D4e5F6g7H8i9J0", "&y=2"), "access_token=…", may_be_secret,
            before=ASSIGNMENT),
    regexp("password-element", "password> passwd> secret> token> apikey> api_key>",
            r"(?i)<(?:[\w:.-]{0,20}(?:password|passwd|secret|token|api_?key))>"
            r"(?P<secret>[^\x00-\x20<>{}$]{6,})</",
            ("<password>", "hunter22", "</password>"), "<password>…</password>", may_be_secret,
            before=r"(?i:password|passwd|secret|token|key)>[^\x00-\x20<>{}$]{6}"),
    regexp("password-in-sql", "password identified",
            r"(?i)\b(?:identified[ ]{1,4}by|password)[ ]{0,4}\(?[ ]{0,4}'(?P<secret>[^\x00-\x20'{}$%]{6,})'",
            ("ALTER USER app WITH PASSWORD '", "hunter22", "'"), "PASSWORD '…'", may_be_secret,
            before=r"(?i:identified[ ]{1,4}by|password)[ ]{0,4}\(?[ ]{0,4}'"),
    regexp("password-line", "passw passphrase pwd secret api_key apikey token private_key privatekey encryption_key",
            r"(?i)^[ \t+>-]{0,40}[\"']?[\w.-]{0,40}(?:passw(?:or)?d|passwd|passphrase|pwd|secret|api_?key|auth_?token|"
            r"access_?token|private_?key|encryption_?key)[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
            r"(?P<secret>[^\x00-\x20\"'`<>{}$()\[\],;|&\\#]{8,})[ \t\r]{0,8}$",
            ("password: ", "hunter22", ""), "password: … to the end of the line", may_be_secret,
            before=ASSIGNMENT),
    regexp("key-line", "token secret_key secret-key access_key access-key auth_key signing_key master_key",
            r"(?i)^[ \t+>-]{0,40}(?:export[ ])?[\"']?[\w.-]{0,40}(?:token|"
            r"(?:secret|access|auth|signing|master)[_-]key)[\"']?"
            r"[ \t]{0,4}[:=][ \t]{0,4}(?P<secret>[^\x00-\x20\"'`<>{}$()\[\],;|&\\#]{16,})[ \t\r]{0,8}$",
            ("github_token: ", "a1B2c3D4e5F6g7H8", ""), "github_token: … to the end of the line", may_be_secret,
            before=ASSIGNMENT),
)  # fmt: skip
