"""Context packs: what a model is given to read for one step, within a budget, and the same again for who asks again.

A pack is made of references (`file:src/app.py#L10-L40`), each read from one commit of the code or of the state. Owns
the cache `packs/` below `<git-common-dir>/nexus/`, which can be deleted at any time: a pack can be built again.
"""

from gitnexus.packs.build import Library, built, rebuilt
from gitnexus.packs.model import Budget, Pack
from gitnexus.packs.render import rendered, tokens_of

__all__ = ["Budget", "Library", "Pack", "built", "rebuilt", "rendered", "tokens_of"]
