"""Find the hosts of the addresses in a text; loads urllib, which few calls of a program need."""

import re
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s<>\"'`]+", re.IGNORECASE)


def find_hosts(text: str) -> list[str]:
    """Return the hosts of all URLs in a text as name:port; `example.org/x` counts if there is no full URL."""
    found = []
    for address in _ADDRESS.findall(text) or ([f"https://{text.strip()}"] if text.strip() else []):
        try:
            parts = urlsplit(address)
            port = parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower(), 0)
        except ValueError:
            continue
        if parts.hostname and not re.search(r"\s", parts.netloc):
            found.append(f"{parts.hostname}:{port}" if port else parts.hostname)
    return found
