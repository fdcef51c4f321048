"""Ask the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator

from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import AnswerOption, UserQuestion
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.format import argument_text
from agentchat.tools.schema import PydanticArguments, ToolArguments

NO_EDITOR = (
    "Nobody can be asked: this chat runs without an editor. Decide yourself and say what you "
    "assumed, or end your answer with the question."
)


class OptionArgument(ToolArguments):
    """One answer on offer."""

    label: str = Field(min_length=1, description="The answer, in a few words")
    description: str = Field("", description="What choosing it means")


class QuestionArgument(ToolArguments):
    """One question."""

    question: str = Field(min_length=1, description="The question")
    header: str = Field("", description="What it is about, in a word or two")
    options: list[OptionArgument] = Field(
        [], description="Answers to choose from; without any the user writes one"
    )
    multi_select: bool = Field(False, description="Let the user choose several options")

    @field_validator("options")
    @classmethod
    def _distinct(cls, value: list[OptionArgument]) -> list[OptionArgument]:
        if len({option.label for option in value}) < len(value):
            raise ValueError("the labels of the options must differ.")
        return value


class AskArguments(ToolArguments):
    """What ``ask`` takes."""

    questions: list[QuestionArgument] = Field(description="Asked one after the other")

    @field_validator("questions")
    @classmethod
    def _some(cls, value: list[QuestionArgument]) -> list[QuestionArgument]:
        if not value:
            raise ValueError("questions must contain at least one question.")
        return value


async def run(arguments: AskArguments, context: ToolContext) -> ToolOutput:
    """Return what the user answered, question by question."""
    if context.frontend is None:
        raise ToolError(NO_EDITOR)
    asked = [_inquiry(question) for question in arguments.questions]
    answers = await context.frontend.ask(asked)
    said = [
        f"{question.question}\n{_answer(question, given)}"
        for question, given in zip(asked, answers, strict=False)
    ]
    details = {"answers": [list(given) for given in answers]}
    if len(answers) == len(asked):
        return ToolOutput("\n\n".join(said), details=details)
    text = f"Cancelled by the user. No answer was given to: {asked[len(answers)].question}"
    return ToolOutput("\n\n".join([*said, text]), is_error=True, cancelled=True, details=details)


def _inquiry(given: QuestionArgument) -> UserQuestion:
    options = tuple(AnswerOption(option.label, option.description) for option in given.options)
    return UserQuestion(given.question, given.header, options, given.multi_select)


def _answer(question: UserQuestion, given: Sequence[str]) -> str:
    nothing = "(none of the options)" if question.options else "(no answer)"
    return "\n".join(f"- {answer}" for answer in given) or nothing


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``ask: Which file? (1 of 2)``."""
    questions = given.get("questions")
    questions = questions if isinstance(questions, list) else []
    first = questions[0] if questions and isinstance(questions[0], Mapping) else {}
    more = f" (and {len(questions) - 1} more)" if len(questions) > 1 else ""
    return f"ask: {argument_text(first.get('question'))}{more}"


TOOL = Tool(
    name="ask",
    description=(
        "Ask the user one or more questions, each with options to choose from or answered in "
        "their own words, and wait for the answers."
    ),
    arguments=PydanticArguments(AskArguments),
    steps=(run,),
    metadata=Metadata(
        aliases=("ask_questions",),
        search_hint="ask the user a question",
        permission_class="ask",
        audit_operation="ask",
    ),
    render_call=render_call,
    snippet="Ask the user questions",
    guidelines=("Use ask when you cannot go on without a decision of the user, and only then.",),
    asks=False,
)
