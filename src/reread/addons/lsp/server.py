"""The language server: hovers, lenses and an action for the lines that sessions wrote."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from reread.addons.lsp.line_origins import DocumentOrigins, Origins, hover_text, lens_text, place_text, reader_place
from reread.addons.lsp.reader_process import ReaderProcess
from reread.base.version import __version__
from reread.reports.blame_report import BlamedLine

OPEN = "reread.open"
FILE = "file:"


class _Document(NamedTuple):
    path: str
    origins: Origins


def make_server(roots: Sequence[str | Path] | None, reader: ReaderProcess) -> LanguageServer:
    """Return a language server for the sessions below some folders, by default of this machine."""
    server = LanguageServer("reread", __version__)
    origins = DocumentOrigins(roots)

    def document(uri: str) -> _Document | None:
        """Return a document with its origins; None for one that is no file."""
        path = to_fs_path(uri) if uri.startswith(FILE) else None
        if not path:
            return None
        try:
            text = server.workspace.get_text_document(uri).source
        except (OSError, UnicodeError):  # it is not open in the editor, and cannot be read
            return None
        return _Document(path, origins.of(path, text))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @server.thread()
    def hover(params: types.HoverParams) -> types.Hover | None:
        found = document(params.text_document.uri)
        line = found.origins.at(params.position.line) if found is not None else None
        if line is None:
            return None
        kind = types.MarkupKind.Markdown if _takes_markdown(server) else types.MarkupKind.PlainText
        text = hover_text(line, as_markdown=kind is types.MarkupKind.Markdown)
        return types.Hover(types.MarkupContent(kind, text), _whole(line))

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    @server.thread()
    def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        found = document(params.text_document.uri)
        runs = found.origins.runs() if found is not None else []
        return [types.CodeLens(_whole(line), _open_command(line, lens_text(line))) for line in runs]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    @server.thread()
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        found = document(params.text_document.uri)
        lines = range(params.range.start.line, params.range.end.line + 1)
        written = [line for at in lines[:1000] if found is not None and (line := found.origins.at(at)) is not None]
        places = {(line.session, line.turn, line.agent): line for line in reversed(written)}
        return [
            types.CodeAction(title, command=_open_command(line, title))
            for line in sorted(places.values(), key=lambda line: line.number)
            if line.path is not None and (title := f"Open in reread: {place_text(line)}")
        ]

    @server.command(OPEN)
    @server.thread()
    def open_in_reader(session: str, agent: str | None, call: str | None, turn: int | None) -> None:
        address = f"{reader.address()}{reader_place(session, agent, call, turn)}"
        window = server.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            server.window_show_document(types.ShowDocumentParams(address, external=True))
        elif not webbrowser.open(address):
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"The reader is at {address}"))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        """Nothing: the document is blamed when something is asked about it."""

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        path = to_fs_path(params.text_document.uri) if params.text_document.uri.startswith(FILE) else None
        if path:
            origins.forget(path)

    _ = hover, code_lens, code_action, open_in_reader, did_open, did_close
    return server


def run(roots: Sequence[str | Path] | None = None) -> None:
    """Serve an editor over standard input and output until it ends."""
    reader = ReaderProcess(roots)
    try:
        make_server(roots, reader).start_io()
    finally:
        reader.close()


def _takes_markdown(server: LanguageServer) -> bool:
    document = server.client_capabilities.text_document
    formats = document.hover.content_format if document is not None and document.hover is not None else None
    return formats is not None and types.MarkupKind.Markdown in formats


def _whole(line: BlamedLine) -> types.Range:
    """Return the range of a line; columns beyond its end mean its end."""
    number = line.number - 1
    return types.Range(types.Position(number, 0), types.Position(number, len(line.text.encode("utf-16-le")) // 2))


def _open_command(line: BlamedLine, title: str) -> types.Command:
    """Return the command behind a lens or an action; a session that is not on this machine cannot be opened."""
    if line.path is None:
        return types.Command(title, "")
    arguments: list[Any] = [line.session, line.agent, line.call, line.turn]
    return types.Command(title, OPEN, arguments=arguments)
