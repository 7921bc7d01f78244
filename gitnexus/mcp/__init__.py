"""Serves the tools, knowledge and skills to agents as an MCP server over stdio."""
