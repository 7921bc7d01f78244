"""What commands print where there are no notes."""

NO_NOTES = "No notes yet.\nNext: git nexus memory add NAME TEXT"
