"""The page of these tools says what the table says."""

import re
from pathlib import Path

from gitnexus.base.tool import input_schema_of
from gitnexus.gateway.table import TOOLS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "gateway-tools.md"


def test_every_tool_and_parameter_is_on_the_page_in_order_with_its_words_and_effect() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert re.findall(r"^## `([\w.]+)`$", page, re.MULTILINE) == list(TOOLS)
    for tool in TOOLS.values():
        section = page.partition(f"## `{tool.name}`\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `(\w+)` \| .* \| (required)? ?\| (.*) \|$", section, re.MULTILINE)
        schema = input_schema_of(tool)
        required = schema.get("required", [])
        assert rows == [
            (name, "required" * (name in required), field["description"])
            for name, field in schema["properties"].items()
        ], tool.name
        effect = "Reads only." if tool.reads_only else "Destructive." if tool.destructive else "Writes."
        assert f"{tool.words} *{effect}*" in section
