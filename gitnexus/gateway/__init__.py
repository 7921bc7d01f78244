"""The one door for tools: every side effect is a request that the gate judged and a token that fits it."""
