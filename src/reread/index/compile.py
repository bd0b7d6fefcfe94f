"""Translate a query into one of the search engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reread.disk import layout
from reread.disk.agent_files import session_file
from reread.disk.file_set import FileSet
from reread.disk.projects import expand_folders, guess_project, is_within
from reread.index.document import KINDS
from reread.index.engine import tantivy
from reread.index.query import (
    And,
    Errors,
    Exact,
    InFiles,
    InProject,
    InSession,
    Kinds,
    NamedFilter,
    Node,
    Not,
    Or,
    Period,
    Words,
    has_exact,
)
from reread.index.store import TAIL_BIT, Cursor, IndexReader, file_id
from reread.index.terms import LONGEST, term, words

PIECE_WEIGHT = 0.4
"""How much a part of an identifier counts, compared to a whole word."""


class IndexScope:
    """The documents of some files that match the filters of a query, without those after the cursors of the rest."""

    def __init__(
        self, reader: IndexReader, files: FileSet, rest: Mapping[str, Cursor], filters: Sequence[Node] = ()
    ) -> None:
        self.reader: IndexReader = reader
        compiler = self._compiler = _Compiler(reader)
        self._parts: list[tuple[Any, Any]] = []
        self._filters = [(tantivy.Occur.Must, compiler.compile(And(tuple(filters))))] if filters else []
        if len(files.states.keys() & reader.cursors.keys()) < len(reader.cursors):
            paths = [path for path in reader.cursors if path in files.states]
            self._parts.append((tantivy.Occur.Must, compiler.in_files(paths)))
        old = [file_id(path) for path, cursor in rest.items() if cursor.offset == 0]
        old += [file_id(path) | TAIL_BIT for path in rest]
        if old:
            self._parts.append((tantivy.Occur.MustNot, tantivy.Query.term_set_query(reader.schema, "file", old)))

    def every(self, nodes: Sequence[Node], paths: Iterable[str] | None = None) -> Any:
        """Return the engine's query for documents that match all nodes, in these files if some are given."""
        return self._query(self._compiler.compile(And(tuple(nodes))), paths)

    def some(self, nodes: Sequence[Node], paths: Iterable[str] | None = None) -> Any:
        """Return the engine's query for documents that match one node or more."""
        return self._query(self._compiler.compile(Or(tuple(nodes))), paths)

    def _query(self, query: Any, paths: Iterable[str] | None) -> Any:
        parts = [(tantivy.Occur.Must, query), *self._parts, *self._filters]
        if paths is not None:
            parts.append((tantivy.Occur.Must, self._compiler.in_files(paths)))
        return tantivy.Query.boolean_query(parts)

    def in_any_text(self, query: Any) -> Any:
        """Return a query of the engine for the documents of these files, whatever the filters say."""
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), *self._parts])

    def has(self, node: Node) -> bool:
        """True if a document of these files matches a node, whatever the filters say."""
        return self.reader.search(self.in_any_text(self._compiler.compile(node)), 1).count > 0

    def count_by_file(self, query: Any) -> dict[str, int]:
        """Return how many documents of each file a query finds."""
        counts: dict[str, int] = {}
        for bucket in self.reader.count(query, "file", 2 * len(self.reader.cursors)):
            path = self.reader.path_of(int(bucket["key"]))
            if path is not None:
                counts[path] = counts.get(path, 0) + int(bucket["doc_count"])
        return counts

    def files_by_time(self) -> dict[str, tuple[int, int]]:
        """Return how many documents of each file there are, and the time of the newest."""
        found: dict[str, tuple[int, int]] = {}
        for bucket in self.reader.count(self.every([]), "file", 2 * len(self.reader.cursors), last=True):
            path = self.reader.path_of(int(bucket["key"]))
            if path is not None:
                count, last = found.get(path, (0, 0))
                found[path] = (count + int(bucket["doc_count"]), max(last, int(bucket["last"]["value"] or 0)))
        return found


class _Compiler:
    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        self._schema = reader.schema

    def compile(self, node: Node) -> Any:
        query, must, should, never = tantivy.Query, tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot
        match node:
            case Words():
                return self._words(node)
            case Exact():
                return self._exact(node)
            case And():
                parts = [
                    (never, self._excluded(n.node)) if isinstance(n, Not) else (must, self.compile(n))
                    for n in node.nodes
                ]
                if all(occur == never for occur, _ in parts):
                    parts.append((must, self._everything()))
                return query.boolean_query(parts)
            case Or():
                return query.boolean_query([(should, self.compile(inner)) for inner in node.nodes])
            case Not():
                return query.boolean_query([(must, self._everything()), (never, self._excluded(node.node))])
            case Kinds():
                terms = [query.term_query(self._schema, "kind", KINDS.index(kind)) for kind in sorted(node.kinds)]
                return _filter(query.boolean_query([(should, term) for term in terms]))
            case NamedFilter():
                return _filter(self._phrase(node.field, node.words))
            case Errors():
                return _filter(query.term_query(self._schema, "error", 1))
            case Period():
                if node == Period():
                    return self._everything()
                bounds = (tantivy.FieldType.Integer, node.since, node.until)
                return _filter(query.range_query(self._schema, "time", *bounds, include_upper=node.until is None))
            case InProject():
                folders = expand_folders(node.projects)
                return self._sessions(lambda path: is_within(self._project(path), folders))
            case InSession():
                return self._sessions(lambda path: Path(path).stem.lower().startswith(node.id))
            case InFiles():
                return self._sessions(node.paths.__contains__)

    def _words(self, leaf: Words) -> Any:
        found = self._unweighted(leaf)
        return found if leaf.weight == 1 else tantivy.Query.boost_query(found, leaf.weight)

    def _unweighted(self, leaf: Words) -> Any:
        query, should = tantivy.Query, tantivy.Occur.Should
        words = [term(word) for word in leaf.words]
        if max(map(len, words)) > LONGEST:  # not in the index
            return query.empty_query()
        if leaf.prefix or leaf.suffix or leaf.is_hash:
            words[0] = f".*{words[0]}" if leaf.suffix else words[0]
            words[-1] = f"{words[-1]}.*" if leaf.prefix or leaf.is_hash else words[-1]
            if len(words) > 1:
                return query.regex_phrase_query(self._schema, "text", words)
            texts, pieces = (query.regex_query(self._schema, field, words[0]) for field in ("text", "pieces"))
        elif len(words) > 1:
            return query.phrase_query(self._schema, "text", words)
        else:
            texts, pieces = (query.term_query(self._schema, field, words[0]) for field in ("text", "pieces"))
        if not leaf.is_single:
            return texts
        return query.boolean_query([(should, texts), (should, query.boost_query(pieces, PIECE_WEIGHT))])

    def _exact(self, leaf: Exact) -> Any:
        """Return a query for what may have these characters: it has the same words."""
        found = [Words((word,)) for word in words(leaf.text) if len(word) <= LONGEST]
        if len(found) > 1 and len(found) == len(words(leaf.text)):
            return tantivy.Query.phrase_query(self._schema, "text", [term(one.words[0]) for one in found])
        return self.compile(And(tuple(found)))

    def _excluded(self, node: Node) -> Any:
        """Return a query for what surely matches a node: words alone do not tell whether exact characters are there."""
        return tantivy.Query.empty_query() if has_exact(node) else self.compile(node)

    def _phrase(self, field: str, words: tuple[str, ...]) -> Any:
        terms = [term(word) for word in words]
        if len(terms) == 1:
            return tantivy.Query.term_query(self._schema, field, terms[0])
        return tantivy.Query.phrase_query(self._schema, field, terms)

    def _everything(self) -> Any:
        return _filter(tantivy.Query.exists_query("kind"))

    def _project(self, path: str) -> str:
        return self._reader.cursors[path].cwd or guess_project(Path(session_file(path)))

    def _sessions(self, accepts: Callable[[str], bool]) -> Any:
        """Return a query for the sessions whose main file is accepted, with their agents."""
        cursors = self._reader.cursors
        known: dict[str, bool] = {}
        chosen: list[str] = []
        for path in cursors:
            main = session_file(path) if os.path.basename(path).startswith(layout.AGENT_PREFIX) else path
            main = main if main in cursors else path
            if main not in known:
                known[main] = accepts(main)
            if known[main]:
                chosen.append(path)
        return self.in_files(chosen)

    def in_files(self, paths: Iterable[str]) -> Any:
        """Return a query for the documents of some files."""
        ids = [file_id(path) | tail for path in paths for tail in (0, TAIL_BIT)]
        return _filter(tantivy.Query.term_set_query(self._schema, "file", ids)) if ids else tantivy.Query.empty_query()


def _filter(query: Any) -> Any:
    """Return a query that does not change how good a match is."""
    return tantivy.Query.const_score_query(query, 0.0)
