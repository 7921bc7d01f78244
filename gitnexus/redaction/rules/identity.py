"""Redaction rules for keys of identity providers, vaults and encryption services."""

from gitnexus.redaction.rule import START, SecretRule, near, regexp, token

# The first line of a private key, and the last: hidden is what is between, as far as it looks like a key.
KEY_BEGINS = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
KEY_ENDS = r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
PRIVATE_KEY = "private-key"

RULES: tuple[SecretRule, ...] = (
    regexp(PRIVATE_KEY, "-----begin", f"(?P<secret>{KEY_BEGINS})",
            ("", "-----BEGIN RSA " + "PRIVATE KEY-----", ""),
            "-----BEGIN … PRIVATE KEY----- to its END, or as far as its lines look like a key"),
    regexp("putty-private-key", "private-lines:", r"(?P<secret>Private-(?:Lines|MAC):[ ]?[0-9a-f]{1,64})",
            ("", "Private-" + "Lines: 14", ""), "Private-Lines: …"),
    token("age-secret-key", "AGE-SECRET-KEY-1{U58}"),
    token("vault-token", "hv<s|b|r>.{b24+}"),
    near("vault-old-token", "vault", "s.{w24}"),
    near("consul-token", "consul", "{uuid}"),
    near("nomad-token", "nomad", "{uuid}"),
    token("doppler-token", "dp.<pt|ct|sa|scim|audit>.{w40-44}"),
    regexp("doppler-service-token", "dp.st.",
            rf"{START}(?P<secret>dp\.st\.(?:[a-z0-9_-]{{2,35}}\.)?[A-Za-z0-9]{{40,44}})",
            ("", "dp.st." + "prd." + "a1B2" * 10, ""), "dp.st.prd.{w40-44}"),
    token("infisical-token", "st.{x24}.{x32}.{x32}"),
    token("1password-service-token", "ops_eyJ{S100+}"),
    token("1password-secret-key", "A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}"),
    near("bitwarden-token", "bitwarden|bws", "0.{uuid}.{w30}:{s22}=="),
    near("okta-token", "okta|ssws", "00{b40}"),
    near("auth0-secret", "auth0", "{b64}"),
    near("onelogin-secret", "onelogin", "{x64}"),
    near("duo-secret", "duo", "{w40}"),
    token("stytch-secret", "secret-<live|test>-{S36+}"),
    near("keycloak-secret", "keycloak", "{w32}"),
    regexp("wireguard-key", "privatekey presharedkey",
            r"(?:PrivateKey|PresharedKey)[ \t]{0,4}=[ \t]{0,4}(?P<secret>[A-Za-z0-9+/]{43}=)",
            ("PrivateKey = ", "aB3d" * 10 + "xYz=", ""), "PrivateKey = {s43}="),
    near("sidekiq-key", "bundle_enterprise|bundle_gems|sidekiq", "{x8}:{x8}"),
    near("django-secret-key", "django|secret", "django-insecure-{t30+}"),
    regexp("pgp-message-passphrase", "passphrase",
            r"(?i:passphrase)[ \t]?[=:][ \t]?[\"'](?P<secret>[^\"'{}$<>]{8,})[\"']",
            ("passphrase: '", "correct horse battery", "'"), "passphrase: '…'"),
    regexp("json-web-token", "eyj", rf"{START}(?P<secret>eyJ[\w-]{{10,}}\.eyJ[\w-]{{10,}}\.[\w-]{{10,}})",
            ("", "eyJ" + "hbGciOiJI" * 2 + ".eyJ" + "zdWIiOiIx" * 2 + "." + "abcDEF123" * 3, ""), "eyJ….eyJ….…",
            before=r"eyJ[\w-]{10}"),
    regexp("json-web-encryption", "eyj",
            rf"{START}(?P<secret>eyJ[\w-]{{10,}}\.[\w-]{{20,}}\.[\w-]{{10,}}\.[\w-]{{10,}}\.[\w-]{{10,}})",
            ("", "eyJ" + "hbGciOiJI" * 2 + "." + "aB3-" * 8 + "." + "aB3-" * 4 + "." + "aB3-" * 8 + "." + "aB3-" * 5,
            ""),
            "eyJ….….….….…", before=r"eyJ[\w-]{10}"),
)  # fmt: skip
