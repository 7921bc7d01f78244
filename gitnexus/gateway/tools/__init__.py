"""The tools of the gateway, a file each; the list is in table.py."""
