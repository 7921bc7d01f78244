"""Lists paths that hold credentials by name or location: agents never read them, and committing one gives a warning."""

from gitnexus.base.globs import matching_pattern

DENIED: tuple[str, ...] = (
    ".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist", "*.env",
    "*.pem", "*.key", "*.ppk", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
    ".git-credentials", "application_default_credentials.json", "credentials.json",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".htpasswd", ".vault-token", ".pgpass", ".my.cnf", ".actrc",
    "secrets.yml", "secrets.yaml", "client_secret*.json", "service-account*.json", "service_account*.json",
    "*.tfstate", "*.tfstate.backup", "terraform.tfvars", "*.ovpn",
    # Folders have no trailing slash, so that the folder itself matches too.
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".secrets", "**/.config/gcloud",
    "**/.config/gh/hosts.yml", "**/.docker/config.json", "**/.cargo/credentials*", "**/.gem/credentials",
    "**/.terraform.d/credentials*", "**/.circleci/secrets*", "**/.github/secrets*",
)  # fmt: skip


def denied_by(path: str) -> str | None:
    """Return the pattern that denies `path`, or None."""
    return matching_pattern(DENIED, path)
