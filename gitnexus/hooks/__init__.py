"""Git calls us: what the shim in githooks/ could not settle by itself."""
