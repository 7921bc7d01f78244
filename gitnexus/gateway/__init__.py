"""The one door for tools: every side effect is a request that the gate judged and a token that fits it."""

from gitnexus.gateway.bench import Bench
from gitnexus.gateway.door import Deed, Door, passed

__all__ = ["Bench", "Deed", "Door", "passed"]
