"""Random stories on clones and a server, and a plain model of what was acknowledged in them."""
