"""The gate that other programs ask before each tool call: reads one call, returns one answer."""
