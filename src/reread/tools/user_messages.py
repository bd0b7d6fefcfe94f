"""AskUserQuestion; messages, files and notifications to the user, feedback to Anthropic, and onboarding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list
from reread.base.format import duration_ms_text
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, one_line, path_line, plural
from reread.tools import _draw, generic
from reread.tools._show import (
    Fields,
    Step,
    declared,
    if_answered,
    show_facts,
    show_input,
    show_note,
    show_outcome,
    show_outcome_or_result,
    show_prose,
    show_result,
)
from reread.tools._values import as_type, comma_separated, first_nonblank, join_parts, list_of
from reread.tools.generic import TITLE_ARGUMENTS
from reread.tools.nodes import Choice, Data, Node, Note, facts
from reread.tools.nodes import Option as OptionNode
from reread.tools.tool import NoInput, Tool, ToolCall

DISABLED_REASONS = {
    "config_off": "not sent: notifications are turned off",
    "user_present": "not sent: the user is present",
    "no_transport": "not sent: no way to deliver it",
}
"""The note for a notification that was not sent."""
OUTCOMES = {
    "connected": "the browser is connected",
    "not_now": "postponed by the user",
    "no_attempt_yet": "not attempted yet",
}
"""The note for the outcome of a browser setup."""


class SentFile(FrozenStruct):
    """A file that was sent."""

    path: str | None = None
    file_path: str | None = None
    name: str | None = None
    size: int | None = None
    isImage: bool | None = None
    media_type: str | None = None
    pathValidated: bool | None = None
    file_uuid: str | None = None


class SendUserFileInput(FrozenStruct):
    """The input of SendUserFile."""

    files: list[str] | None = None
    caption: str | None = None
    status: str | None = None
    display: str | None = None


class SendUserFileResult(FrozenStruct):
    """The result of SendUserFile."""

    attachments: list[SentFile] | None = None
    caption: str | None = None
    display: str | None = None
    sentAt: str | None = None


class SendUserMessageInput(FrozenStruct):
    """The input of SendUserMessage and PushNotification."""

    message: str | None = None
    attachments: list[str] | None = None
    status: str | None = None


class SendUserMessageResult(FrozenStruct):
    """The result of SendUserMessage."""

    message: str | None = None
    attachments: list[SentFile] | None = None
    sentAt: str | None = None


class PushNotificationResult(FrozenStruct):
    """The result of PushNotification."""

    message: str | None = None
    pushSent: bool | None = None
    localSent: bool | None = None
    disabledReason: str | None = None
    sentAt: str | None = None


class SendFeedbackInput(FrozenStruct):
    """The input of SendFeedback."""

    type: str | None = None
    title: str | None = None
    details: str | None = None
    area: str | None = None
    failure_mode: str | None = None
    task_category: str | None = None


class MessageResult(FrozenStruct):
    """A result with a message."""

    success: bool | None = None
    message: str | None = None


class RolePickerResult(FrozenStruct):
    """The result of ShowOnboardingRolePicker."""

    role: str | None = None
    dismissed: bool | None = None


class OfferChromeSetupInput(FrozenStruct):
    """The input of OfferChromeSetup."""

    reason: str | None = None


class OfferChromeSetupResult(FrozenStruct):
    """The result of OfferChromeSetup."""

    outcome: str | None = None


def _file_title(fields: Fields) -> str:
    """Return the file, or the number of files."""
    files = as_list(fields.value("files"))
    return path_line(files[0]) if len(files) == 1 else plural(files, "file")


def _attachments(requested: str) -> Step:
    """Draw the files that were sent, or the requested ones if the result does not say."""

    def draw(fields: Fields) -> Iterator[Node]:
        sent = [_file_entry(file) for file in fields.objects("result.attachments")]
        yield from _draw.file_list(*(sent or ((path, None) for path in as_list(fields.value(requested)))))

    return draw


def _file_entry(file: Fields) -> tuple[str, str]:
    note = join_parts(file.text("size:size"), "image" if file.value("isImage") is True else "", separator=", ")
    return file.text("path|file_path|name"), note


def _targets(fields: Fields) -> str:
    """Return where a notification was sent."""
    targets = (("phone", "result.pushSent"), ("this machine", "result.localSent"))
    return ", ".join(target for target, sent in targets if fields.value(sent) is True)


def _other_fields(fields: Fields) -> Iterator[Node]:
    known = MessageResult.__struct_fields__
    others = {name: value for name, value in (fields.result or {}).items() if name not in known}
    yield from _draw.section("result", [Data(value=others)] if others else [], open=True)


SEPARATOR = ", "
"""Separates the labels in an answer with several choices."""
MOST_QUESTIONS = 50
"""Questions whose answers are looked for in the text of a result; Claude asks up to four at once."""
_ANSWER_END = re.compile(r'"(?=[,.\s]|$)')
UNANSWERED = {
    "skipped": "skipped by the user",
    "replied_in_chat": "answered in the chat instead",
    "dismissed": "dismissed by the user",
}
"""The note for a question without an answer."""


class QuestionOption(FrozenStruct):
    """An option of a question."""

    label: str = ""
    description: str | None = None
    preview: str | None = None


class Question(FrozenStruct):
    """A question with its options."""

    question: str = ""
    header: str | None = None
    options: list[QuestionOption] | None = None
    multiSelect: bool | None = None


class QuestionAnnotation(FrozenStruct):
    """Notes of the user on an answer, or why there is none."""

    preview: str | None = None
    notes: str | None = None
    unanswered: str | None = None


class AskUserQuestionInput(Question):
    """The questions; early versions had the fields of a single question here."""

    questions: list[Question] | None = None
    answers: dict[str, Any] | None = None
    annotations: dict[str, QuestionAnnotation] | None = None
    metadata: dict[str, Any] | None = None


class AskUserQuestionResult(FrozenStruct):
    """The answers by the text of the question."""

    questions: list[Question] | None = None
    answers: dict[str, Any] | None = None
    annotations: dict[str, QuestionAnnotation] | None = None
    response: str | None = None
    afkTimeoutMs: float | None = None


def title(call: ToolCall) -> str:
    """Return the question and its answer; for several questions, their headings."""
    questions, answers = _questions(call), _answers(call)
    if len(questions) == 1:
        answer = answers.get(as_text(questions[0].question), "")
        return f"{call.name} {one_line(questions[0].question)}" + (f" → {one_line(answer)}" if answer else "")
    parts = [_heading(question, answers) for question in questions]
    return f"{call.name} {join_parts(*parts, separator=' · ')}".strip()


def _heading(question: Question, answers: dict[str, str]) -> str:
    head, answer = first_nonblank(question.header, question.question), answers.get(as_text(question.question), "")
    return f"{one_line(head)}: {one_line(answer)}" if answer else one_line(head)


def chosen_answers(call: ToolCall) -> dict[str, str]:
    """Return what a person answered, by question."""
    return {question: answer for question, answer in _answers(call).items() if answer}


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw each question with the chosen options marked."""
    output, answers = call.output(AskUserQuestionResult) or AskUserQuestionResult(), _answers(call)
    notes = {**as_dict(call.input(AskUserQuestionInput).annotations), **as_dict(output.annotations)}
    questions = _questions(call)
    if not questions:
        yield from generic.draw(call)
        return
    for question in questions:
        yield _choice(question, answers.get(as_text(question.question), ""))
        yield from _annotation_notes(as_type(notes.get(as_text(question.question)), QuestionAnnotation))
    known = {as_text(question.question) for question in questions}
    yield from facts(**{text: answer for text, answer in answers.items() if text not in known})
    yield from _draw.prose(output.response)
    if timeout := duration_ms_text(output.afkTimeoutMs):
        yield Note(text=f"no answer within {timeout}", level="warning")
    yield from generic.outcome_note(call) if answers else _draw.plain_result(call)


def _questions(call: ToolCall) -> list[Question]:
    args, output = call.input(AskUserQuestionInput), call.output(AskUserQuestionResult)
    questions = list_of(args.questions, Question) or list_of(output.questions if output else None, Question)
    return questions or ([args] if first_nonblank(args.question) else [])


def _answers(call: ToolCall) -> dict[str, str]:
    """Return the answers by question, from the text of the result if there is no structured one."""
    output = call.output(AskUserQuestionResult)
    recorded = as_dict(output.answers if output else None) or as_dict(call.input(AskUserQuestionInput).answers)
    if recorded:
        return {question: comma_separated(answer) for question, answer in recorded.items()}
    found: dict[str, str] = {}
    for question in _questions(call)[:MOST_QUESTIONS] if call.outcome.state == DONE else []:
        text = as_text(question.question)
        answer = _answer_in(call.text, text)
        if answer is not None:
            found[text] = answer
    return found


def _answer_in(text: str, question: str) -> str | None:
    """Return the answer that a text gives as `"question"="answer"`."""
    asked = f'"{question}"="'
    at = text.find(asked)
    end = _ANSWER_END.search(text, at + len(asked)) if at >= 0 else None
    return text[at + len(asked) : end.start()] if end else None


def _choice(question: Question, answer: str) -> Choice:
    options = list_of(question.options, QuestionOption)
    labels = [as_text(option.label) for option in options]
    multiple = question.multiSelect is True
    chosen, free_text = _match_labels(answer, labels) if multiple else _match_label(answer, labels)
    return Choice(
        question=as_text(question.question),
        header=first_nonblank(question.header) or None,
        options=[_option(option, as_text(option.label) in chosen) for option in options],
        multiple=multiple,
        answer=free_text or None,
    )


def _option(option: QuestionOption, chosen: bool) -> OptionNode:
    return OptionNode(
        label=as_text(option.label),
        description=first_nonblank(option.description) or None,
        chosen=chosen,
        preview=first_nonblank(option.preview) or None,
    )


def _match_label(answer: str, labels: list[str]) -> tuple[set[str], str]:
    """Return the chosen label, or the answer in the user's own words."""
    return ({answer}, "") if answer in labels else (set(), answer)


def _match_labels(answer: str, labels: list[str]) -> tuple[set[str], str]:
    """Return the labels in an answer with several choices, and the rest in the user's own words.

    Labels may contain commas, so the longest label that matches is tried first.
    """
    chosen: set[str] = set()
    free_text: list[str] = []
    longest_first = sorted(filter(None, labels), key=len, reverse=True)
    at = 0
    while at < len(answer):
        label = next((label for label in longest_first if _is_label_at(answer, at, label)), None)
        comma = answer.find(SEPARATOR, at)
        end = at + len(label) if label else comma if comma >= 0 else len(answer)
        (chosen.add if label else free_text.append)(answer[at:end])
        at = end + len(SEPARATOR)
    return chosen, SEPARATOR.join(free_text)


def _is_label_at(answer: str, at: int, label: str) -> bool:
    """True if the whole label is at this position."""
    end = at + len(label)
    return answer.startswith(label, at) and answer[end : end + len(SEPARATOR)] in ("", SEPARATOR)


def _annotation_notes(annotation: QuestionAnnotation | None) -> Iterator[Node]:
    if annotation:
        yield from _draw.note(f"You added: {as_text(annotation.notes)}" if first_nonblank(annotation.notes) else "")
        yield from _draw.note(UNANSWERED.get(as_text(annotation.unanswered), as_text(annotation.unanswered)))


TOOLS = [
    declared(
        ("SendUserFile",),
        _file_title,
        show_prose("caption|result.caption"),
        _attachments("files"),
        show_facts(status="status", shown_as="display|result.display", sent="result.sentAt"),
        show_outcome_or_result(),
        input=SendUserFileInput,
        result=SendUserFileResult,
    ),
    declared(
        ("SendUserMessage", "Brief"),
        "{message}",
        show_prose("message|result.message"),
        _attachments("attachments"),
        show_facts(status="status", sent="result.sentAt"),
        show_outcome_or_result(),
        input=SendUserMessageInput,
        result=SendUserMessageResult,
    ),
    declared(
        ("PushNotification",),
        "{message}",
        show_prose("message"),
        if_answered(
            show_outcome("{result.message}"),
            show_note("{result.disabledReason}", "warning", words=DISABLED_REASONS),
            show_facts(sent_to=_targets, sent="result.sentAt", status="status"),
            done=False,
        ),
        input=SendUserMessageInput,
        result=PushNotificationResult,
    ),
    declared(
        ("SendFeedback",),
        "{type:words}: {title}",
        show_prose("title"),
        show_prose("details"),
        show_facts(kind="type", area="area", failure="failure_mode", task="task_category"),
        show_result("{result.message}"),
        input=SendFeedbackInput,
        result=MessageResult,
    ),
    declared(
        ("ShareOnboardingGuide",),
        "{" + "|".join(TITLE_ARGUMENTS) + "}",
        show_input,
        show_result("{result.message}"),
        _other_fields,
        result=MessageResult,
    ),
    declared(
        ("ShowOnboardingRolePicker",),
        "[→ {result.role}]",
        show_facts(role="result.role"),
        show_note("dismissed by the user", when="result.dismissed"),
        show_result(),
        input=NoInput,
        result=RolePickerResult,
    ),
    declared(
        ("OfferChromeSetup",),
        "{reason}",
        show_prose("reason"),
        show_note("{result.outcome}", words=OUTCOMES),
        show_result(),
        input=OfferChromeSetupInput,
        result=OfferChromeSetupResult,
    ),
    Tool(("AskUserQuestion",), title, draw, input=AskUserQuestionInput, result=AskUserQuestionResult),
]
