"""Live: programs that ask before each call and wait for the answer."""

from gitnexus.adapters.live.protocol import Asked, Heard, Wire
from gitnexus.adapters.live.table import WIRES, wire_for

__all__ = ["WIRES", "Asked", "Heard", "Wire", "wire_for"]
