"""All projects of one person: the registry on the home repository's state ref."""

from gitnexus.projects.model import Project, Registry, hash_of
from gitnexus.projects.register import register, unregister
from gitnexus.projects.store import read_registry

__all__ = ["Project", "Registry", "hash_of", "read_registry", "register", "unregister"]
