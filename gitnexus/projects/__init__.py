"""All projects of one person: registry, references, permissions and audit, on the home repository's state ref.

What `status` and `init` need is here; the rest is imported from where it is made, so that they stay quick:
`standpoint` (the current project among all), `operations` (the table of levels), `reference`, `resolve`, `access`.
"""

from gitnexus.projects.model import Project, Registry, hash_of
from gitnexus.projects.store import read_registry

__all__ = ["Project", "Registry", "hash_of", "read_registry"]
