"""Ask the user questions."""

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
    "The user cannot be asked: this chat runs without an editor. Decide yourself and state what "
    "you assumed, or end your answer with the question."
)


class OptionArgument(ToolArguments):
    """One answer to choose."""

    label: str = Field(min_length=1, description="The answer, in a few words")
    description: str = Field("", description="What choosing it means")


class QuestionArgument(ToolArguments):
    """One question."""

    question: str = Field(min_length=1, description="The question")
    header: str = Field("", description="The topic, in one or two words")
    options: list[OptionArgument] = Field(
        [], description="Answers to choose from; without options the user writes an answer"
    )
    multi_select: bool = Field(False, description="Let the user choose several options")

    @field_validator("options")
    @classmethod
    def _refuse_duplicates(cls, value: list[OptionArgument]) -> list[OptionArgument]:
        if len({option.label for option in value}) < len(value):
            raise ValueError("the labels of the options must differ.")
        return value


class AskArguments(ToolArguments):
    """What ``ask`` takes."""

    questions: list[QuestionArgument] = Field(description="Questions, asked in this order")

    @field_validator("questions")
    @classmethod
    def _refuse_empty(cls, value: list[QuestionArgument]) -> list[QuestionArgument]:
        if not value:
            raise ValueError("questions must contain at least one question.")
        return value


async def run(arguments: AskArguments, context: ToolContext) -> ToolOutput:
    """Return the user's answers, question by question."""
    if context.frontend is None:
        raise ToolError(NO_EDITOR)
    questions = [_user_question(argument) for argument in arguments.questions]
    answers = await context.frontend.ask(questions)
    texts = [
        f"{question.question}\n{_answer_text(question, answer)}"
        for question, answer in zip(questions, answers, strict=False)
    ]
    details = {"answers": [list(answer) for answer in answers]}
    if len(answers) == len(questions):
        return ToolOutput("\n\n".join(texts), details=details)
    texts.append(
        f"Cancelled by the user. No answer was given to: {questions[len(answers)].question}"
    )
    return ToolOutput("\n\n".join(texts), is_error=True, cancelled=True, details=details)


def _user_question(argument: QuestionArgument) -> UserQuestion:
    return UserQuestion(
        question=argument.question,
        header=argument.header,
        options=tuple(
            AnswerOption(option.label, option.description) for option in argument.options
        ),
        multi_select=argument.multi_select,
    )


def _answer_text(question: UserQuestion, answer: Sequence[str]) -> str:
    empty = "(none of the options)" if question.options else "(no answer)"
    return "\n".join(f"- {line}" for line in answer) or empty


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``ask: Which file? (and 1 more)``."""
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
    guidelines=("Use ask only when you cannot continue without a decision of the user.",),
    asks=False,
)
