"""The deployments of a session, as a list for a change log."""

from collections.abc import Iterator

from reread.plugins.formats import ExportFormat, Selection, Session, selected_turns


def write(session: Session, selection: Selection) -> Iterator[bytes]:
    for turn in selected_turns(session.conversation, selection):
        for call in turn.calls:
            if call.name == "deploy" and call.ok:
                yield f"- {call.title}\n".encode()


FORMAT = ExportFormat(
    write, about="deployments, one per line", readers="change logs", empty="this session deployed nothing"
)
