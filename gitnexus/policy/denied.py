"""Paths that hold credentials by their name: no agent reads them, and a commit of one is worth a warning."""

from gitnexus.base.globs import deciding

DENIED: tuple[str, ...] = (
    ".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist", "*.env",
    "*.pem", "*.key", "*.ppk", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
    "**/.aws/credentials", ".git-credentials", "application_default_credentials.json", "credentials.json",
    ".netrc", "_netrc", ".npmrc", ".pypirc", "**/.docker/config.json", "**/.kube/config", ".htpasswd",
    "secrets.yml", "secrets.yaml", "client_secret*.json", "service-account*.json", "service_account*.json",
)  # fmt: skip


def denied_by(path: str) -> str | None:
    """Return the pattern that denies `path`, or None."""
    return deciding(DENIED, path)
