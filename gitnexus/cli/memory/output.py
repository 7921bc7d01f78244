"""The message of commands that find no notes."""

NO_NOTES = "No notes yet.\nNext: git nexus memory add NAME TEXT"
