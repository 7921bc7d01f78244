"""The four skills as prompts."""

from dataclasses import dataclass

from mcp import types


@dataclass(frozen=True, slots=True)
class Skill:
    """A way of working that a person can ask for."""

    name: str
    words: str
    text: str


SKILLS: dict[str, Skill] = {
    skill.name: skill
    for skill in (
        Skill(
            "nx-plan",
            "Plan before doing: research, one question at a time, decisions that last.",
            "Plan the matter below; do not carry it out yet.\n"
            "1. Find out what is there: nx_context, nx_history_search and the files concerned.\n"
            "2. Open the plan with nx_plan_start: the topic, the questions that need an answer, what you found.\n"
            "3. Take one question at a time. Give the person two or three real choices with what each costs, say\n"
            "   which one you would take and why, and wait for an answer.\n"
            "4. Record each answer at once with nx_plan_decide, reason included. New questions: nx_plan_update.\n"
            "5. When all are decided, turn them into tasks with nx_task_add: context that stands alone, how one sees\n"
            "   that it is done, and what must come first.",
        ),
        Skill(
            "nx-run",
            "Carry out the tasks of this cycle, in order, checked.",
            "Carry out the open tasks.\n"
            "1. nx_task_list shows what is ready. Start with nx_task_update to in_progress.\n"
            "2. Hand a task to the agent that owns it; nx_task_resume tells whether to go on with its earlier\n"
            "   session. Tasks that share no file may run side by side.\n"
            "3. Check each result against its acceptance before nx_task_update to completed, with the outcome.\n"
            "4. A task that cannot be done as written goes back to the plan: nx_plan_update, and tell the person.\n"
            "5. When all are completed, close the cycle with nx_task_close.",
        ),
        Skill(
            "nx-sync",
            "Bring the context notes in line with the project as it is.",
            "Compare the notes in .nexus/context/ with the code, the docs and what was decided since\n"
            "(nx_history_search). Correct what is no longer true, add what somebody new would miss, delete what is\n"
            "said elsewhere. Touch no other folder. End with the list of what you changed and why.",
        ),
        Skill(
            "nx-init",
            "First look at a project: write down what an agent must know.",
            "This project has no notes yet. Read its README, its build and its tests, and run the tests once. Write\n"
            "short notes to .nexus/context/: what it is, how it is built and tested, how the code is laid out, what\n"
            "must never happen. Ask the person what you could not find out.",
        ),
    )
}


def listed() -> list[types.Prompt]:
    """Return the skills as a client lists prompts."""
    matter = types.PromptArgument(name="matter", description="What it is about, in your words.", required=False)
    return [types.Prompt(name=skill.name, description=skill.words, arguments=[matter]) for skill in SKILLS.values()]


def prompt(skill: Skill, matter: str | None) -> types.GetPromptResult:
    """Return a skill's text, with the matter at hand."""
    text = skill.text + (f"\n\nThe matter: {matter}" if matter else "")
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=skill.words, messages=[message])
