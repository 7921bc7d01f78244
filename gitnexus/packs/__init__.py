"""Context packs: the text that a model is given for one step, within a budget, and reproducible from the repository.

A pack is made of references (`file:src/app.py#L10-L40`), each read from one commit of the code or of the state. Owns
the cache `packs/` below `<git-common-dir>/nexus/`, which can be deleted at any time: a pack can be built again.
"""

from gitnexus.packs.build import Library, pack_references, rebuild_pack
from gitnexus.packs.model import ContextPack, PackBudget
from gitnexus.packs.render import estimate_tokens, render_pack

__all__ = ["ContextPack", "Library", "PackBudget", "estimate_tokens", "pack_references", "rebuild_pack", "render_pack"]
