"""Denies a tool call that the capabilities of its role exclude, whatever the policy rules say."""

from gitnexus.base.text import one_line
from gitnexus.harness.calls import Call, ReadCall, ShellCall
from gitnexus.toolgate.context import CallFinding, JudgeContext
from gitnexus.toolgate.shell import writes_files


def refusal_by_role(context: JudgeContext, call: Call) -> CallFinding | None:
    """Return the denial by a role's capabilities, None if they permit the call."""
    if not context.role:
        return None
    from gitnexus.catalog import open_catalog  # roles and skills: only needed with a role
    from gitnexus.catalog.effective import denied_harness_tools, effective_capabilities
    from gitnexus.catalog.harnesses import HARNESSES

    opened = open_catalog(context.state.snapshot, context.state.repo.folder, context.state.trusts)
    if context.role not in opened.catalog.agents or isinstance(call, ReadCall):
        return None
    held = effective_capabilities(opened.catalog, context.role, opened.added)
    harness = HARNESSES.get(context.event.harness)
    tools = denied_harness_tools(opened.catalog, held, harness) if held and harness else ()
    if context.event.tool in tools:
        return CallFinding(
            "deny", f"the role {context.role} may not use {one_line(context.event.tool, 60)}", "capability"
        )
    if "no_file_edit" in held and isinstance(call, ShellCall) and writes_files(call):
        return CallFinding("deny", f"the role {context.role} may not edit files, not even by a command", "capability")
    return None
