"""The lowest room: errors, records, the clock, canonical JSON, path patterns. Imports no other room, never runs git."""
