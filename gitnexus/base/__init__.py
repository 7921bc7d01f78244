"""The ground floor: errors, records, clock, canonical JSON, globs. Knows nothing of git."""
