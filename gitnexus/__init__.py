"""git nexus: a control plane for coding agents that lives inside git."""

__version__ = "0.1.0"
