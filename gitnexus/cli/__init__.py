"""Commands for people: read arguments, call one verb, print."""
