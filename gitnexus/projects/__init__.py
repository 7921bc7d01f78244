"""All projects of one user: registry, references, permissions and audit, on the home repository's state ref.

`status` and `init` use what is imported here; everything else is imported from its own module, so that they stay fast:
`standpoint` (the current project among all), `operations` (the table of levels), `reference`, `resolve`, `access`.
"""

from gitnexus.projects.model import Project, Registry, hash_of
from gitnexus.projects.store import read_registry

__all__ = ["Project", "Registry", "hash_of", "read_registry"]
