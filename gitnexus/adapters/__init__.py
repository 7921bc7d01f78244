"""Adapters: how we call the programs that agents live in, and what we hear from them."""

from gitnexus.adapters.protocol import Adapter, Budget, Ended, Job, Launch, Reader, Said, Way, checked, over

__all__ = ["Adapter", "Budget", "Ended", "Job", "Launch", "Reader", "Said", "Way", "checked", "over"]
