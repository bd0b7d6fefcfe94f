"""Preferences for training, as TRL reads them: what a person rewound is a rejected answer, what came instead is chosen.

https://huggingface.co/docs/trl/dataset_formats#preference
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reread.addons.formats._model_context import ASSISTANT, USER, heard, refuse_choice, setup_of
from reread.addons.formats.chat import chat_line, chat_messages, system_messages
from reread.model.conversation import Message
from reread.model.record_kinds import TURN_STARTERS
from reread.reader.export_formats import ExportFormat
from reread.render.selection import Selection
from reread.session.session import Session


def session_pairs(session: Session, selection: Selection) -> Iterator[bytes]:
    """A line of JSON for each abandoned branch: the prompt, the answer chosen and the answer rejected.

    If the person also changed the prompt, the prompt is the one that was chosen, and `rejected_prompt` the other.
    """
    refuse_choice(selection, "pairs")
    conversation = session.conversation
    chosen_branch = conversation.branch(conversation.active_branch).messages
    setup = setup_of(conversation)
    known = {message.index for message in chosen_branch}
    seen: set[int] = set()
    for branch in conversation.branches:
        messages = branch.messages
        split = next((n for n, message in enumerate(messages) if message.index not in known), None)
        if branch.active or split is None or messages[split].index in seen:
            continue
        seen.add(messages[split].index)
        chosen, rejected = _turn(chosen_branch, split), _turn(messages, split)
        first, other = (chat_messages(heard(turn, selection)) for turn in (chosen, rejected))
        shared = chat_messages(heard(chosen_branch[:split], selection))
        asked, answer = _cut(first)
        other_asked, other_answer = _cut(other)
        prompt = [*system_messages(setup), *shared, *asked]
        if not answer or not other_answer or bool(asked) != bool(other_asked):
            continue  # nothing to prefer, or one of them answers no prompt
        if not any(message["role"] == USER for message in prompt):
            continue
        columns = {"prompt": prompt, "chosen": answer, "rejected": other_answer}
        same = asked == other_asked
        yield chat_line(columns, setup, session, rejected_prompt=None if same else _text(other_asked))


def _turn(messages: Sequence[Message], start: int) -> Sequence[Message]:
    """Return the messages from one on, up to the next prompt after the first answer."""
    answered = False
    for end in range(start, len(messages)):
        if answered and messages[end].kind in TURN_STARTERS:
            return messages[start:end]
        answered = answered or messages[end].kind == "response"
    return messages[start:]


def _cut(said: list[dict[str, str]]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Cut messages before the first answer; what the client added after the last one is left out."""
    cut = next((n for n, message in enumerate(said) if message["role"] == ASSISTANT), len(said))
    while len(said) > cut and said[-1]["role"] == USER:
        said = said[:-1]
    return said[:cut], said[cut:]


def _text(asked: list[dict[str, str]]) -> str:
    return "\n\n".join(message["content"] for message in asked)


FORMAT = ExportFormat(
    session_pairs,
    about="preferences: `prompt`, `chosen`, `rejected`, one per line",
    readers="`datasets`, TRL's DPO trainer",
    empty="no answer of this session was rewound and given again, so there is no pair",
)
