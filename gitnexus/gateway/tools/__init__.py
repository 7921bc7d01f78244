"""The gateway's tools, one file per group; table.py lists them."""
