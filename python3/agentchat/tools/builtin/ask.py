"""Ask the user questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any

from agentchat.core.errors import ToolError
from agentchat.core.frontend import AnswerOption, UserQuestion
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.format import argument_text

NO_EDITOR = (
    "The user cannot be asked: this chat runs without an editor. Decide yourself and state what "
    "you assumed, or end your answer with the question."
)


@frozen
class OptionArgument(ToolArguments):
    """One answer to choose."""

    label: Annotated[str, "The answer, in a few words", {"minLength": 1}]
    description: Annotated[str, "What choosing it means"] = ""


@frozen
class QuestionArgument(ToolArguments):
    """One question."""

    question: Annotated[str, "The question", {"minLength": 1}]
    header: Annotated[str, "The topic, in one or two words"] = ""
    options: Annotated[
        list[OptionArgument], "Answers to choose from; without options the user writes an answer"
    ] = field(default_factory=list)
    multi_select: Annotated[bool, "Let the user choose several options"] = False

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what the schema cannot say."""
        if len({option.label for option in self.options}) < len(self.options):
            yield "options", "the labels of the options must differ."


@frozen
class AskArguments(ToolArguments):
    """What ``ask`` takes."""

    questions: Annotated[list[QuestionArgument], "Questions, asked in this order"]

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what the schema cannot say."""
        if not self.questions:
            yield "questions", "questions must contain at least one question."


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
        is_optional=argument.multi_select,
        by_model=True,
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
    arguments=ValueArguments(AskArguments),
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
