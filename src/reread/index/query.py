"""The query language: words, phrases, prefixes, AND, OR, -not, parentheses and fields, parsed into a tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from reread.base.times import parse_bound_ms, parse_days_ms
from reread.catalog.annotations import tagged_sessions
from reread.disk.filenames import filename_for
from reread.errors import Misuse
from reread.index.document import INPUT, KINDS, NOTICE, PROMPT, RESULT, TEXT, THINKING, TITLE
from reread.index.terms import fold, words

LONGEST = 2000
DEEPEST = 50
"""How many parentheses may be nested."""
_FIELD = re.compile(r"([a-z]+):(?=.)", re.IGNORECASE)
_HASH = re.compile(r"(?=[a-z]*\d)(?=\d*[a-f])[0-9a-f]{7,40}")
"""A word that looks like the beginning of a hash."""

KIND_WORDS = ("prompts", "text", "thinking", "inputs", "results", "notices", "titles", "requests")
"""The kinds of document, as help and errors name them."""
KIND_NAMES = {
    **dict(zip(KIND_WORDS, KINDS, strict=True)),
    **{kind: kind for kind in KINDS},
    "texts": TEXT,
    "user": PROMPT,
    "answer": TEXT,
    "answers": TEXT,
    "assistant": TEXT,
    "thought": THINKING,
    "thoughts": THINKING,
    "call": INPUT,
    "calls": INPUT,
    "command": INPUT,
    "commands": INPUT,
    "output": RESULT,
    "outputs": RESULT,
    "name": TITLE,
    "system": NOTICE,
}
"""The kinds of document by the names that people use."""


QUESTION_WORDS = frozenset(
    "a about again am an and any are as at be because been being but by can could did do does for from had has have "
    "having he her him his how i if in into is it its me my of on one ones or our she should so some such than that "
    "the their them then there these they this those to too us was we were what when where which while who whom whose "
    "why will with would you your session sessions remember".split()
)
"""Words that questions are made of: they do not count beside others."""
UNAPOSTROPHED = frozenset(
    "arent cant couldnt didnt doesnt dont hadnt hasnt havent hows im isnt its ive shouldnt thats theres wasnt werent "
    "whats whens wheres whos wont wouldnt youre".split()
)
"""Such words with others, written without the apostrophe."""
CONTRACTED = frozenset(
    "aren couldn d didn don doesn hadn hasn haven isn ll m re s shouldn t ve wasn weren won wouldn".split()
)
"""What is left of such words on both sides of an apostrophe."""
_SENTENCE = "'\"’‘“”«»„?!.,:;…"
"""Signs that belong to a sentence, not to the word before or after them."""
_APOSTROPHES = str.maketrans("", "", "'’")


class Words(msgspec.Struct, frozen=True):
    """Words that follow each other; one word, or a phrase."""

    words: tuple[str, ...]
    prefix: bool = False
    """True if the last word may go on."""
    suffix: bool = False
    """True if something may come before the first word."""
    weight: float = 1.0
    """How much it counts."""

    @property
    def is_single(self) -> bool:
        """True if it is one word as it stands, which may be part of an identifier."""
        return len(self.words) == 1 and not self.prefix and not self.suffix

    @property
    def is_hash(self) -> bool:
        """True if it may be the beginning of a longer hash."""
        return len(self.words) == 1 and bool(_HASH.fullmatch(self.words[0]))


class Exact(msgspec.Struct, frozen=True):
    """Characters as they stand, in capitals or not; a space is any white space."""

    text: str


class Kinds(msgspec.Struct, frozen=True):
    """One of these kinds of document."""

    kinds: frozenset[str]


class NamedFilter(msgspec.Struct, frozen=True):
    """A tool, file, model or git branch with these words in its name."""

    field: str
    """tool, path, model or branch."""
    words: tuple[str, ...]


class Errors(msgspec.Struct, frozen=True):
    """A result or notice of something that failed."""


class Period(msgspec.Struct, frozen=True):
    """From one time to before another, in milliseconds since 1970."""

    since: int | None = None
    until: int | None = None


class InProject(msgspec.Struct, frozen=True):
    """A session in one of these projects."""

    projects: tuple[str, ...]


class InSession(msgspec.Struct, frozen=True):
    """A session whose id begins like this."""

    id: str


class InFiles(msgspec.Struct, frozen=True):
    """A session whose file is one of these."""

    paths: frozenset[str]


class Not(msgspec.Struct, frozen=True):
    """Anything else."""

    node: Node


class And(msgspec.Struct, frozen=True):
    """All of these; everything if there are none."""

    nodes: tuple[Node, ...]


class Or(msgspec.Struct, frozen=True):
    """One of these."""

    nodes: tuple[Node, ...]


Node = Words | Exact | Kinds | NamedFilter | Errors | Period | InProject | InSession | InFiles | Not | And | Or


def parse_query(text: str) -> Node:
    """Return the tree of a query; raise Misuse if a field has an impossible value."""
    if len(text) > LONGEST:
        raise Misuse(f"The query has {len(text):,} characters; use at most {LONGEST:,}.")
    return _Parser(_tokens(text)).parse()


class _Token(msgspec.Struct, frozen=True):
    kind: str
    """word, phrase, and, or, not, ( or )."""
    text: str = ""
    field: str = ""


def _tokens(text: str) -> list[_Token]:
    out: list[_Token] = []
    at, depth = 0, 0
    while at < len(text):
        character = text[at]
        if character.isspace():
            at += 1
        elif character == "(":
            out.append(_Token("("))
            at, depth = at + 1, depth + 1
        elif character == ")":
            out.append(_Token(")"))
            at, depth = at + 1, max(0, depth - 1)
        elif character == "-" and at + 1 < len(text) and not text[at + 1].isspace() and text[at + 1] != "-":
            out.append(_Token("not"))
            at += 1
        else:
            token, at = _word(text, at, in_group=depth > 0)
            out.append(token)
    return out


def _word(text: str, at: int, *, in_group: bool) -> tuple[_Token, int]:
    """Return the word or phrase that begins here, with its field, and where it ends."""
    field = ""
    found = _FIELD.match(text, at)
    if found is not None and found[1].lower() in FIELDS and not text[found.end()].isspace():
        field, at = found[1].lower(), found.end()
    if text[at] == '"':
        end = text.find('"', at + 1)
        end = len(text) if end < 0 else end
        return _Token("phrase", text[at + 1 : end], field), end + 1
    end = at
    while end < len(text) and not text[end].isspace() and text[end] != '"':
        end += 1
    word = text[at:end]
    while in_group and word.endswith(")") and word.count(")") > word.count("("):
        word, end = word[:-1], end - 1
    operator = "" if field else {"AND": "and", "OR": "or", "NOT": "not"}.get(word, "")
    return _Token(operator or "word", word, field), end


class _Parser:
    """Reads tokens: OR binds least, then AND, which needs no word, then NOT. What is missing is left out."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def parse(self) -> Node:
        nodes: list[Node] = []
        while self._at < len(self._tokens):
            nodes += self._either(0)
            if self._peek() == ")":
                self._at += 1
        return _all(nodes)

    def _peek(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else ""

    def _either(self, depth: int) -> list[Node]:
        options = [self._sequence(depth)]
        while self._peek() == "or":
            self._at += 1
            options.append(self._sequence(depth))
        given = [_all(option) for option in options if option]
        return [Or(tuple(given))] if len(given) > 1 else given

    def _sequence(self, depth: int) -> list[Node]:
        nodes: list[Node] = []
        while self._peek() not in ("", "or", ")"):
            nodes += self._one(depth)
        return nodes

    def _one(self, depth: int) -> list[Node]:
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "and":
            return []
        if token.kind == "not":
            negated = self._one(depth) if self._peek() not in ("", "or", ")") else []
            return [Not(_all(negated))] if negated else []
        if token.kind == "(":
            if depth >= DEEPEST:
                raise Misuse(f"The query has more than {DEEPEST} nested parentheses; use fewer.")
            inner = self._either(depth + 1)
            if self._peek() == ")":
                self._at += 1
            return inner
        if token.field:
            return [FIELDS[token.field](token.text)]
        if token.kind == "phrase":
            return [Exact(" ".join(token.text.split()))] if token.text.strip() else []
        return as_words(token.text)


def _all(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def as_words(text: str) -> list[Node]:
    """Return the words of a text as one node; none if it has no letters or digits."""
    found = tuple(words(text))
    return [Words(found, prefix=text.endswith("*"), suffix=text.startswith("*"))] if found else []


def is_plain(text: str) -> bool:
    """True if a query has neither AND nor OR nor parentheses: whoever writes them wants exactly that."""
    return not any(token.kind in ("and", "or", "(") for token in _tokens(text))


def signed_words(text: str) -> tuple[Exact, ...]:
    """Return the words of a query that are written with signs, such as `foo->bar()`, `C++` or `src/app.py`."""
    found: list[Exact] = []
    before = ""
    for token in _tokens(text):
        sign = token.text.strip(_SENTENCE)
        is_asked = token.kind == "word" and not token.field and before != "not"
        is_part = sign.startswith("*") or sign.endswith("*")
        plain = "".join(words(sign))
        if is_asked and plain and not is_part and plain != fold(sign).lower().translate(_APOSTROPHES):
            found.append(Exact(sign))
        before = token.kind
    return tuple(dict.fromkeys(found))


def field_texts(text: str) -> list[tuple[str, str]]:
    """Return the fields that a query asks for, each with its text as written; without those that it excludes."""
    found: list[tuple[str, str]] = []
    before = ""
    for token in _tokens(text):
        if token.field and before != "not":
            found.append((token.field, token.text))
        before = token.kind
    return found


def is_question_word(node: Node, others: frozenset[str] = frozenset()) -> bool:
    """True for a word that does not count; `others` are more of them than the English ones."""
    if not isinstance(node, Words) or node.prefix or node.suffix:
        return False
    if node.is_single and node.words[0] in UNAPOSTROPHED | others:
        return True
    return node.words[-1] in (QUESTION_WORDS if node.is_single else CONTRACTED) and all(
        word in QUESTION_WORDS or word in CONTRACTED for word in node.words
    )


def has_exact(node: Node) -> bool:
    """True if a query has exact characters somewhere, which only a text itself can tell."""
    if isinstance(node, And | Or):
        return any(map(has_exact, node.nodes))
    return has_exact(node.node) if isinstance(node, Not) else isinstance(node, Exact)


def parse_kinds(text: str) -> Node:
    """Return a node for kinds of document, named with commas between them."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in KIND_NAMES]
    if unknown or not names:
        raise Misuse(f"Unknown kind {', '.join(unknown) or text!r}; use {', '.join(KIND_WORDS)}.")
    return Kinds(frozenset(KIND_NAMES[name] for name in names))


def named(field: str) -> Callable[[str], Node]:
    """Return a function that makes a node from the name of a tool, file, model or branch, or several with commas."""

    def node(text: str) -> Node:
        options = [NamedFilter(field, found) for name in text.split(",") if (found := tuple(words(name)))]
        if not options:
            raise Misuse(f"Empty {field} {text!r}; name one.")
        return _either(options)

    return node


def _state(text: str) -> Node:
    word = text.lower()
    if word in ("error", "errors", "failed", "failure"):
        return Errors()
    if word in KIND_NAMES:
        return parse_kinds(word)
    raise Misuse(f"Unknown state is:{text}; use is:error.")


def _project(text: str) -> Node:
    return InProject((text,))


def with_tags(text: str | Sequence[str]) -> Node:
    """Return a node for the sessions with one of some tags."""
    return _either([InSession(filename_for(id).lower()) for id in sorted(tagged_sessions(text))])


def _either(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))


FIELDS: dict[str, Callable[[str], Node]] = {
    "tool": named("tool"),
    "tools": named("tool"),
    "file": named("path"),
    "path": named("path"),
    "model": named("model"),
    "branch": named("branch"),
    "in": parse_kinds,
    "kind": parse_kinds,
    "is": _state,
    "project": _project,
    "session": lambda text: InSession(text.lower()),
    "tag": with_tags,
    "since": lambda text: Period(since=parse_bound_ms(text, None)),
    "after": lambda text: Period(since=parse_bound_ms(text, None, end=True)),
    "until": lambda text: Period(until=parse_bound_ms(text, None, end=True)),
    "before": lambda text: Period(until=parse_bound_ms(text, None)),
    "on": lambda text: Period(*parse_days_ms(text, None)),
}
"""The fields and their meaning; a word with any other before a colon is just text."""
