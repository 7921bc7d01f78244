"""Agents call us: the tools, knowledge and skills as an MCP server over stdio."""
