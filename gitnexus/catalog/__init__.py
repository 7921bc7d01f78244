"""The catalog: roles with their prompts and what they may not do, skills, tags, and what that means in each harness.

`data/` is our own, in the layout of a nexus-core package; a project may name another package in its settings.
"""

from gitnexus.catalog.catalog import BUILT_IN, Catalog
from gitnexus.catalog.open import Opened, open_catalog

__all__ = ["BUILT_IN", "Catalog", "Opened", "open_catalog"]
