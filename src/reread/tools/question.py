"""AskUserQuestion: questions with their possible answers, and what the user chose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.coerce import as_dict
from reread.tools import _draw, generic
from reread.tools._values import each, first, held, line, names, span_ms, words
from reread.tools.nodes import Choice, Node, Note, facts
from reread.tools.nodes import Option as Drawn
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

JOIN = ", "
"""What joins several answers to one."""
UNANSWERED = {
    "skipped": "skipped by the user",
    "replied_in_chat": "answered in the chat instead",
    "dismissed": "dismissed by the user",
}
"""How a question may go without an answer."""


class Option(Struct, kw_only=True):
    """A possible answer."""

    label: str = ""
    description: str | None = None
    preview: str | None = None


class Question(Struct, kw_only=True):
    """What is asked."""

    question: str = ""
    header: str | None = None
    options: list[Option] | None = None
    multiSelect: bool | None = None


class Annotation(Struct, kw_only=True):
    """What the user added to an answer, or why there is none."""

    preview: str | None = None
    notes: str | None = None
    unanswered: str | None = None


class Input(Question, kw_only=True):
    """The questions; once it was a single one, asked directly."""

    questions: list[Question] | None = None
    answers: dict[str, Any] | None = None
    annotations: dict[str, Annotation] | None = None
    metadata: dict[str, Any] | None = None


class Output(Struct, kw_only=True):
    """The answers, by the text of their question."""

    questions: list[Question] | None = None
    answers: dict[str, Any] | None = None
    annotations: dict[str, Annotation] | None = None
    response: str | None = None
    afkTimeoutMs: float | None = None


def title(call: ToolCall) -> str:
    """The question and its answer; of several, their headings."""
    asked, answers = _asked(call), _answers(call)
    if len(asked) == 1:
        answer = answers.get(words(asked[0].question), "")
        return f"{call.name} {line(asked[0].question)}" + (f" → {line(answer)}" if answer else "")
    parts = [_short(question, answers) for question in asked]
    return f"{call.name} {' · '.join(part for part in parts if part)}".strip()


def _short(question: Question, answers: dict[str, str]) -> str:
    head, answer = first(question.header, question.question), answers.get(words(question.question), "")
    return f"{line(head)}: {line(answer)}" if answer else line(head)


def draw(call: ToolCall) -> Iterator[Node]:
    """Each question with the chosen answer marked."""
    output, answers = call.output(Output) or Output(), _answers(call)
    notes = {**as_dict(call.input(Input).annotations), **as_dict(output.annotations)}
    asked = _asked(call)
    if not asked:
        yield from generic.draw(call)
        return
    for question in asked:
        yield _choice(question, answers.get(words(question.question), ""))
        yield from _remarks(held(notes.get(words(question.question)), Annotation))
    known = {words(question.question) for question in asked}
    yield from facts(**{text: answer for text, answer in answers.items() if text not in known})
    yield from _draw.prose(output.response)
    if span_ms(output.afkTimeoutMs):
        yield Note(text=f"nobody answered within {span_ms(output.afkTimeoutMs)}", level="warning")
    yield from generic.ending(call) if answers else _draw.reply(call)


def _asked(call: ToolCall) -> list[Question]:
    given, output = call.input(Input), call.output(Output)
    questions = each(given.questions, Question) or each(output.questions if output else None, Question)
    return questions or ([given] if first(given.question) else [])


def _answers(call: ToolCall) -> dict[str, str]:
    """What was answered, by question; from the result's text where only that was kept."""
    output = call.output(Output)
    given = as_dict(output.answers if output else None) or as_dict(call.input(Input).answers)
    if given:
        return {question: names(answer) for question, answer in given.items()}
    found: dict[str, str] = {}
    for question in _asked(call) if call.ending.state == DONE else []:
        said = words(question.question)
        told = re.search(rf'"{re.escape(said)}"="(.*?)"(?=[,.\s]|$)', call.text, re.DOTALL)
        if told:
            found[said] = told[1]
    return found


def _choice(question: Question, answer: str) -> Choice:
    options = each(question.options, Option)
    labels = [words(option.label) for option in options]
    several = question.multiSelect is True
    chosen, free = _matched(answer, labels) if several else _only(answer, labels)
    return Choice(
        question=words(question.question),
        header=first(question.header) or None,
        options=[_option(option, words(option.label) in chosen) for option in options],
        multiple=several,
        answer=free or None,
    )


def _option(option: Option, chosen: bool) -> Drawn:
    return Drawn(
        label=words(option.label),
        description=first(option.description) or None,
        chosen=chosen,
        preview=first(option.preview) or None,
    )


def _only(answer: str, labels: list[str]) -> tuple[set[str], str]:
    """The one label that was chosen, or else the user's own words."""
    return ({answer}, "") if answer in labels else (set(), answer)


def _matched(answer: str, labels: list[str]) -> tuple[set[str], str]:
    """The labels in an answer that joins several by commas, and what in it is the user's own words.

    Labels may have commas themselves, so the longest that fits is taken first.
    """
    chosen: set[str] = set()
    own: list[str] = []
    longest = sorted(filter(None, labels), key=len, reverse=True)
    at = 0
    while at < len(answer):
        fits = next((label for label in longest if _stands(answer, at, label)), None)
        comma = answer.find(JOIN, at)
        end = at + len(fits) if fits else comma if comma >= 0 else len(answer)
        (chosen.add if fits else own.append)(answer[at:end])
        at = end + len(JOIN)
    return chosen, JOIN.join(own)


def _stands(answer: str, at: int, label: str) -> bool:
    """Whether a label stands there as a whole."""
    end = at + len(label)
    return answer.startswith(label, at) and answer[end : end + len(JOIN)] in ("", JOIN)


def _remarks(added: Annotation | None) -> Iterator[Node]:
    if added:
        yield from _draw.note(f"the user adds: {words(added.notes)}" if first(added.notes) else "")
        yield from _draw.note(UNANSWERED.get(words(added.unanswered), words(added.unanswered)))


TOOLS = [Tool(("AskUserQuestion",), title, draw)]
