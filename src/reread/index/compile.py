"""Translate a query into one of the search engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from reread.disk import layout
from reread.disk.file_set import FileSet
from reread.index.engine import tantivy
from reread.index.query import And, Errors, InProject, InSession, Kinds, Named, Node, Not, Or, Period, Words
from reread.index.store import TAIL_BIT, Cursor, IndexReader, file_id
from reread.index.unit import KINDS

PIECE_WEIGHT = 0.4
"""How much a part of an identifier counts, compared to a whole word."""


def compile_query(node: Node, reader: IndexReader, files: FileSet, rest: Mapping[str, Cursor]) -> Any:
    """Return the engine's query for units of some files that match, without those after the cursors of the rest."""
    compiler = _Compiler(reader)
    parts = [(tantivy.Occur.Must, compiler.compile(node))]
    if len(files.states.keys() & reader.cursors.keys()) < len(reader.cursors):
        parts.append((tantivy.Occur.Must, compiler.in_files(path for path in reader.cursors if path in files.states)))
    old = [file_id(path) for path, cursor in rest.items() if cursor.offset == 0]
    old += [file_id(path) | TAIL_BIT for path in rest]
    if old:
        parts.append((tantivy.Occur.MustNot, tantivy.Query.term_set_query(reader.schema, "file", old)))
    return tantivy.Query.boolean_query(parts)


class _Compiler:
    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        self._schema = reader.schema

    def compile(self, node: Node) -> Any:
        query, must, should, never = tantivy.Query, tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot
        match node:
            case Words():
                return self._words(node)
            case And():
                parts = [
                    (never, self.compile(n.node)) if isinstance(n, Not) else (must, self.compile(n)) for n in node.nodes
                ]
                if all(occur == never for occur, _ in parts):
                    parts.append((must, self._everything()))
                return query.boolean_query(parts)
            case Or():
                return query.boolean_query([(should, self.compile(inner)) for inner in node.nodes])
            case Not():
                return query.boolean_query([(must, self._everything()), (never, self.compile(node.node))])
            case Kinds():
                terms = [query.term_query(self._schema, "kind", KINDS.index(kind)) for kind in sorted(node.kinds)]
                return _filter(query.boolean_query([(should, term) for term in terms]))
            case Named():
                return _filter(self._phrase(node.field, node.words))
            case Errors():
                return _filter(query.term_query(self._schema, "error", 1))
            case Period():
                if node == Period():
                    return self._everything()
                bounds = (tantivy.FieldType.Integer, node.since, node.until)
                return _filter(query.range_query(self._schema, "time", *bounds, include_upper=node.until is None))
            case InProject():
                folders = layout.expand_folders(node.projects)
                return self._sessions(lambda path: layout.is_within(self._project(path), folders))
            case InSession():
                return self._sessions(lambda path: Path(path).stem.lower().startswith(node.id))

    def _words(self, leaf: Words) -> Any:
        query, should = tantivy.Query, tantivy.Occur.Should
        last = leaf.words[-1]
        if leaf.prefix or leaf.suffix or leaf.is_hash:
            words = list(leaf.words)
            words[0] = f".*{words[0]}" if leaf.suffix else words[0]
            words[-1] = f"{words[-1]}.*" if leaf.prefix or leaf.is_hash else words[-1]
            if len(words) == 1:
                return query.regex_query(self._schema, "text", words[0])
            return query.regex_phrase_query(self._schema, "text", words)
        if len(leaf.words) > 1:
            return query.phrase_query(self._schema, "text", list(leaf.words))
        piece = query.boost_query(query.term_query(self._schema, "pieces", last), PIECE_WEIGHT)
        return query.boolean_query([(should, query.term_query(self._schema, "text", last)), (should, piece)])

    def _phrase(self, field: str, words: tuple[str, ...]) -> Any:
        if len(words) == 1:
            return tantivy.Query.term_query(self._schema, field, words[0])
        return tantivy.Query.phrase_query(self._schema, field, list(words))

    def _everything(self) -> Any:
        return _filter(tantivy.Query.exists_query("kind"))

    def _project(self, path: str) -> str:
        return self._reader.cursors[path].cwd or layout.guess_project(Path(layout.session_file(path)))

    def _sessions(self, accepts: Callable[[str], bool]) -> Any:
        """Return a query for the sessions whose main file is accepted, with their agents."""
        cursors = self._reader.cursors
        known: dict[str, bool] = {}
        chosen: list[str] = []
        for path in cursors:
            main = layout.session_file(path) if os.path.basename(path).startswith(layout.AGENT_PREFIX) else path
            main = main if main in cursors else path
            if main not in known:
                known[main] = accepts(main)
            if known[main]:
                chosen.append(path)
        return self.in_files(chosen)

    def in_files(self, paths: Iterable[str]) -> Any:
        """Return a query for the units of some files."""
        ids = [file_id(path) | tail for path in paths for tail in (0, TAIL_BIT)]
        return _filter(tantivy.Query.term_set_query(self._schema, "file", ids)) if ids else tantivy.Query.empty_query()


def _filter(query: Any) -> Any:
    """Return a query that does not change how good a match is."""
    return tantivy.Query.const_score_query(query, 0.0)
