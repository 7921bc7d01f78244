"""Turns JSON that arrives in pieces into text that people can read: names of fields, and texts as they are meant."""

_ESCAPES = {"n": "\n", "t": "\t", "r": "", "b": "", "f": ""}


class ReadableJson:
    """Takes pieces of an answer; what stands around a JSON object is passed on as it is."""

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._quoted = self._escaped = False
        self._code = ""
        # Whether the next text in an object is the name of a field.
        self._is_name = False
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return what can be read of the answer so far."""
        return "".join(map(self._read, piece))

    def _read(self, ch: str) -> str:
        if self._quoted:
            return self._read_quoted(ch)
        if not self._stack and ch != "{":
            return ch
        if ch in "{[":
            self._stack.append(ch)
            self._is_name = ch == "{"
            return "\n"
        if ch in "}]":
            self._stack.pop()
            return "\n"
        if ch == '"':
            self._quoted = True
            return ""
        if ch == ",":
            self._is_name = bool(self._stack) and self._stack[-1] == "{"
            return "\n"
        if ch == ":":
            self._is_name = False
            return ": "
        return "" if ch.isspace() else ch

    def _read_quoted(self, ch: str) -> str:
        if self._code:
            self._code += ch
            return self._decode_unit() if len(self._code) == 5 else ""
        if self._escaped:
            self._escaped = False
            if ch == "u":
                self._code = "u"
                return ""
            return _ESCAPES.get(ch, ch)
        if ch == "\\":
            self._escaped = True
            return ""
        if ch == '"':
            self._quoted = False
            return ""
        return ch

    def _decode_unit(self) -> str:
        """Return the character of a \\u escape; the first half of a pair waits for the second."""
        digits, self._code = self._code[1:], ""
        try:
            unit = chr(int(digits, 16))
        except ValueError:
            return digits
        pair, self._half = self._half + unit, ""
        if "\ud800" <= unit <= "\udbff":
            self._half = unit
            return ""
        return pair.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
