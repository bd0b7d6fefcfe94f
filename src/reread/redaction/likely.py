"""Values that are called secrets: what stands after a name for one, in every syntax in which people write that.

A pass over the text finds the words that such names contain; only around these the rest is looked at. Nothing is
guessed from how random a text looks: that takes hashes and identifiers of code for secrets. Where a name leaves no
doubt and what follows cannot be code (a string, a line of a configuration, an option of a command), any value is taken;
where it may be code, only one that is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import ClassVar, NamedTuple

from reread.redaction import value_syntax as syntax
from reread.redaction.likely_commands import Match
from reread.redaction.likely_places import FINDERS, read_column
from reread.redaction.secret_names import (
    FOREIGN_LETTER,
    FOREIGN_WORD,
    HARMLESS_AFTER,
    LONGEST,
    PASSWORD,
    STEMS,
    TOKEN,
    SecretName,
    name_in_words,
    read_name,
)
from reread.redaction.secret_values import (
    is_bare_secret,
    is_chosen,
    is_code_name,
    is_literal_secret,
    is_mixed,
    is_odd,
    is_phrase,
    is_random,
    is_said_secret,
    is_scrambled,
    is_word_secret,
    looks_secret,
)
from reread.redaction.words import keyword_search

_ANY = re.compile("")
MOST_WORDS = 6
"""How many words may stand between a password and the word for it in another language."""

_STEMS = frozenset(stem.encode() for stem in STEMS)
_CORE, _CORES = keyword_search({*_STEMS, *FINDERS})
_NAME_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz0123456789_.-"
_NAMES = bytes(byte if byte in _NAME_CHARACTERS else 32 for byte in range(256))
"""Turns every character that no name has into a space."""


Place = tuple[int, int]
"""Where a value begins and ends."""


class LikelyMatch(NamedTuple):
    """A value that may be a secret."""

    start: int
    end: int
    kind: str
    name: str
    """Its name."""


def find_likely(text: str) -> Iterator[LikelyMatch]:
    """Yield the values that are called secrets; the same place may come twice."""
    lowered = text.encode("latin-1", "replace").lower()  # one byte for each character, so places are the same
    stems: list[int] = []
    found: list[Match] = []
    for hit in _CORE.finditer(lowered):  # once over the text, for all keywords
        for before, keyword in _CORES[hit[0]]:
            at = hit.start() - before
            if at < 0 or not lowered.startswith(keyword, at):
                continue
            if keyword in _STEMS:
                stems.append(at)
            for finder in FINDERS.get(keyword, ()):
                found += finder(text, lowered, at, keyword)
    yield from _named(text, lowered, stems)
    if not text.isascii() and FOREIGN_LETTER.search(text) is not None:
        yield from _in_other_languages(text)
    for match in found:
        if "\x1e" not in text[match[0] : match[1]] and "\x1f" not in text[match[0] : match[1]]:  # of one string only
            yield LikelyMatch(*match)


def _named(text: str, lowered: bytes, stems: list[int]) -> Iterator[LikelyMatch]:
    """Yield the values with a name that says they are secret."""
    names, done = lowered.translate(_NAMES), 0
    table_head = table_end = 0  # what stands in the rows of a table heads no other
    for at in sorted(stems):
        if at < done:
            continue
        start = max(done, names.rfind(b" ", max(0, at - LONGEST), at) + 1, at - LONGEST)
        end = names.find(b" ", at, at + LONGEST)
        done = end = end if end >= 0 else min(len(text), at + LONGEST)
        while text[end - 1] in ".-":
            end -= 1
        if text[start - 1 : start] == "\\" and text[start] in "nrt":  # the end of an escaped line
            start += 1
        own = text[start:end]
        name = read_name(own)
        if name is None and end - start in (3, 5):
            name = name_in_words(own.lower(), text[max(0, start - 16) : start])
        found = _Value(text, start, end, name).find() if name is not None else None
        if name is not None and found is not None and (not name.is_vague or is_random(text[slice(*found)])):
            yield LikelyMatch(*found, name.kind, name.label)
            done = max(done, found[1])
            continue
        ending = syntax.MIXED_END.fullmatch(own) if end - start > 17 and not own.islower() else None
        if ending is not None and is_mixed(ending["value"]):
            yield LikelyMatch(start + ending.start("value"), start + ending.end("value"), TOKEN, "name")
        elif name is not None and (name.is_strong or name.kind == PASSWORD) and not (table_head <= start < table_end):
            column = read_column(text, start, end)
            if column is not None:
                table_head, table_end = column.head_end, column.end
                for place in column.values:
                    if is_odd(text[slice(*place)]):
                        yield LikelyMatch(*place, name.kind, name.label)


def _in_other_languages(text: str) -> Iterator[LikelyMatch]:
    """Yield the values after the word for a password in other languages."""
    for word in FOREIGN_WORD.finditer(text):
        label = word[0].lower()
        found = _Value(text, *word.span(), SecretName(PASSWORD, True, label, True)).find()
        if found is not None:
            yield LikelyMatch(*found, PASSWORD, label)


class _Form(NamedTuple):
    """A syntax in which a name has a value."""

    follows: str
    """The characters of which one follows the name; any may if there are none."""
    pattern: re.Pattern[str]
    """What follows the name."""
    read: Callable[[_Value, int], Place | None] | None = None
    """Finds the value behind what follows the name; None if the pattern has it."""
    applies: Callable[[_Value], bool] | None = None
    may_fail: bool = False
    """True if the next syntaxes are tried where this one has no value."""


class _Value:
    """The search for the value of one name."""

    def __init__(self, text: str, start: int, end: int, name: SecretName) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.name = name
        self.is_password: bool = name.kind == PASSWORD

    def find(self) -> Place | None:
        """Return where the value is; None if there is none, or it is no secret."""
        following = self.text[self.end : self.end + 1]
        for form in self.forms:
            if form.follows and (not following or following not in form.follows):
                continue
            found = form.pattern.match(self.text, self.end)
            if found is not None and (form.applies is None or form.applies(self)):
                place = form.read(self, found.end()) if form.read is not None else self._literal(*found.span("value"))
                if place is not None or not form.may_fail:
                    return place
        operator = syntax.OPERATOR.match(self.text, self.end)
        if operator is not None:
            return self._stated(operator)
        return self._next_line() or self._spaced() or self._before() or self._in_sentence()

    def _stated(self, found: re.Match[str]) -> Place | None:
        """A value after a sign or a word that says what the name is."""
        if found["cell"]:
            return self._cell(found.end())
        if not found["said"]:
            return self._assigned(found)
        of = (found["of"] or found["of_it"] or "").lower().split()
        if not HARMLESS_AFTER.isdisjoint(of) and not self.name.is_foreign:
            return None
        direct = self._spaced() if of else None
        if direct is None and not self.name.is_strong:
            return self._option_at(found.end(), is_mixed)
        return direct or self._quoted(found.end()) or self._said(found.end()) or self._in_sentence()

    def _field_at(self, at: int) -> Place | None:
        """A value in a field beside that of the name."""
        return self._keyed(at) if self.text[at - 1] == "\x1e" else self._quoted(at) or self._wide(at)

    # Where the value stands

    def _keyed(self, at: int) -> Place | None:
        """A value of the record itself."""
        rest = self.text[at : at + syntax.LONGEST_VALUE]
        return self._literal(at, at + len(re.split(r"[\x1e\x1f]", rest, maxsplit=1)[0]))

    def _argument(self, at: int) -> Place | None:
        """The string that a call gets: setPassword("…"), PASSWORD('…')."""
        own, found = self.text[self.start : self.end].rpartition(".")[2], syntax.read_string(self.text, at)
        if found is None or not self.name.is_strong:
            return None
        start, stop, _ = found
        is_set = own.isupper() or own.lower().startswith(("set", "with"))
        is_value = is_odd(self.text[start:stop]) or looks_secret(self.text[start:stop])
        return self._literal(start, stop) if is_set or is_value else None

    def _is_in_tag(self) -> bool:
        before = self.text[max(0, self.start - 80) : self.start]
        return "<" in before and ">" not in before.rpartition("<")[2]

    def _is_name_field(self) -> bool:
        """True unless a string of the record follows of which nothing says that it belongs to the name."""
        if self.text[self.end : self.end + 1] != "\x1f":
            return True
        before = self.text[max(0, self.start - 90) : self.start].lower()
        if before.endswith("/"):  # a path of names
            before = before.rstrip("abcdefghijklmnopqrstuvwxyz0123456789_./-")
        return before.endswith(("\x1f", "name\x1e", "key\x1e"))

    def _value_before(self, _: int) -> Place | None:
        """A value of a field beside that of the name, before it."""
        if self.text[self.start - 1 : self.start] not in ('"', "'", "\x1e"):
            return None
        first = max(0, self.start - 280)
        before = self.text[first : self.start]
        found = syntax.VALUE_BEFORE.search(before) if "alue" in before else None
        return self._literal(first + found.start("value"), first + found.end("value")) if found is not None else None

    def _is_option(self) -> bool:
        return self.text[self.start] == "-"

    def _option(self, end: int) -> Place | None:
        """The value of an option of a command: --password X, --password=X, -storepass X."""
        text = self.text
        listed = syntax.PAIR.match(text, end)
        if listed is not None:
            return self._option_at(listed.end())
        operator = re.match(r"[ \t]{1,4}|[=:][ \t]{0,2}", text[end : end + 6])
        if operator is None:
            return self._next_line()
        at = end + operator.end()
        if text[at : at + 1] in "-|><;&)":
            return None
        return self._option_at(at)

    def _option_at(self, at: int, accept: Callable[[str], bool] | None = None) -> Place | None:
        string, word = syntax.read_string(self.text, at), syntax.NARROW.match(self.text, at)
        place = string[:2] if string is not None else word.span() if word is not None else (at, at)
        return self._checked_span(*place, accept or (is_word_secret if self.name.is_strong else is_odd))

    def _pair(self, at: int) -> Place | None:
        """Two strings with a comma between them: a pair, or two names of a list."""
        found = syntax.read_string(self.text, at)
        if found is None:
            return None
        start, stop, behind = found
        value, text = self.text[start:stop], self.text
        before = text[max(0, self.start - 90) : self.start].rstrip("\\\"'` \t")
        is_pair = before.endswith(("(", "[", "{")) and text[behind : behind + 1] in (")", "]", "}")
        is_set = syntax.SETTER.search(before) is not None
        if is_set or (is_pair and self.name.is_strong and not value.replace("_", "").isalpha()):
            return self._literal(start, stop)
        return (start, stop) if self.name.is_strong and looks_secret(value) else None

    def _next_line(self) -> Place | None:
        """A value that is alone on the next line."""
        found = syntax.NEXT_LINE.match(self.text, self.end)
        if found is None:
            return None
        is_list = self.text[self.start] == "-" and self.text[self.end] == "\n"  # the words of a command, each a string
        if found["sign"] is None and not is_list:  # a form: what is alone on two lines
            line = self.text[max(0, self.start - 40) : self.start].rpartition("\n")[2]
            accept = is_mixed if not line.strip(syntax.MARKS) and self.name.is_strong else None
            return self._checked_span(*found.span("value"), accept) if accept is not None else None
        return self._checked_span(*found.span("value"), is_word_secret if is_list and self.name.is_strong else is_odd)

    def _spaced(self) -> Place | None:
        """A value after nothing but a space: PASSWORD 'x', ENV PASSWORD x, password Qx7…"""
        before = self.text[max(0, self.start - 60) : self.start]
        is_set = syntax.SETS.search(before.rpartition("\n")[2]) is not None
        gap = syntax.SPACE.match(self.text, self.end + (is_set and self.text[self.end : self.end + 1] in ("'", '"')))
        if gap is None:
            return None
        at = gap.end()
        if syntax.SET_BEFORE.search(before) is not None:
            return self._quoted(at) or self._checked(syntax.NARROW.match(self.text, at), is_word_secret)
        is_constant = self.text[self.start : self.end].isupper()
        if not (self.name.is_strong or is_set or is_constant):
            is_place = self.name.label.encode() in FINDERS  # which says better what it is
            accept = is_chosen if self.is_password else is_random
            return self._checked(syntax.NARROW.match(self.text, at), accept) if not is_place else None
        if self.text[at : at + 1] == "-" or (gap[0][0] == "," and not self.is_password):
            return None
        string = syntax.read_string(self.text, at)
        if string is not None:
            is_sql = is_constant or syntax.SQL_BEFORE.search(before) is not None
            return self._checked_span(*string[:2], is_word_secret if is_sql else is_odd)
        word = syntax.NARROW.match(self.text, at)
        line = before.rpartition("\n")[2].rpartition("\x1f")[2].rpartition("\x1e")[2]
        is_line = (
            word is not None
            and self.text[word.end() : word.end() + 1] in ("", "\n", "\r", "\x1e", "\x1f")
            and not line.strip(syntax.MARKS)
        )
        return self._checked(word, is_odd if self.is_password and (is_line or is_set) else is_mixed)

    def _before(self) -> Place | None:
        """A value before its name: use X as the password."""
        first = max(0, self.start - 120)
        found = syntax.AS.search(self.text[first : self.start])
        accept = is_odd if self.name.is_strong else is_mixed
        return self._checked_span(first + found.start(1), first + found.end(1), accept) if found is not None else None

    def _cell(self, at: int) -> Place | None:
        """The next cell of a table."""
        found = syntax.CELL.match(self.text, at)
        line = self.text[max(0, self.start - 60) : self.start].rpartition("\n")[2]
        is_row = found is not None and ("|" in line if found["last"] is None else not line.strip(syntax.MARKS))
        if found is None or not is_row or not self.name.is_strong:
            return None
        is_sure = self.is_password and found["last"] is None
        return self._checked_span(*found.span("value"), is_word_secret if is_sure else is_odd)

    def _said(self, at: int) -> Place | None:
        """A value in a sentence: the password is X."""
        if self.text[at : at + 1] in ("\r", "\n"):
            found = syntax.NEXT_LINE.match(self.text, at)
            return self._checked_span(*found.span("value"), is_odd) if found is not None else None
        found = self._checked(syntax.NARROW.match(self.text, at), is_odd if self.name.is_strong else self._is_bare)
        if found is not None or not self.is_password or not self.name.is_strong:
            return found
        word = syntax.NARROW.match(self.text, at)
        return self._checked(word, is_said_secret) if word is not None and self._ends_sentence(word) else None

    def _in_sentence(self) -> Place | None:
        """The first value behind the name, whatever words for "is" and "of the database" are between.

        What ends a word in English may be code, so there it has to look as few things but passwords do.
        """
        own, before = self.text[self.start : self.end], self.text[max(0, self.start - 2) : self.start]
        is_said = own.isalpha() and not own.isupper() and syntax.PROSE_BEFORE.fullmatch(before) is not None
        if not self.name.is_foreign and not (is_said and (self.name.is_strong or self.is_password)):
            return None
        accept = is_odd if self.name.is_foreign else is_chosen
        stop = len(re.split(r"[\n\x1e\x1f]", self.text[self.end : self.end + 120], maxsplit=1)[0]) + self.end
        words = islice(syntax.ASCII_WORD.finditer(self.text, self.end, stop), MOST_WORDS)
        return next((found for word in words if (found := self._checked(word, accept)) is not None), None)

    def _ends_sentence(self, word: re.Match[str]) -> bool:
        return self.text[word.end() : word.end() + 1] in ("", *"\n\r\x1e\x1f\"',;)") or word[0][-1] in ".!?"

    def _assigned(self, operator: re.Match[str]) -> Place | None:
        """The value after an operator: a string, the rest of a line, or something in code."""
        text, at = self.text, operator.end()
        if text[max(0, self.start - 6) : self.start].rstrip(" \t").endswith(","):
            found = self._of_several(at)
            if found is not None:
                return found
        found = self._joined(at)
        if found is not None:
            return found
        wrapper = syntax.WRAPPER.match(text, at)
        if wrapper is not None:
            string = syntax.read_string(self.text, wrapper.end())
            if string is None:
                return None
            value = text[string[0] : string[1]]
            is_held = "(" not in wrapper[0] or syntax.HOLDER.search(wrapper[0]) is not None
            return string[:2] if looks_secret(value) or (is_held and is_odd(value)) else None
        if syntax.OPENING.match(text, at) is not None or operator["assign"] in ("==", "==="):
            return None
        if at >= len(text) or text[at] in "\r\n" or text.startswith(("(\n", "(\r\n", "\\\n", "\\\r\n"), at):
            return self._next_line()
        block = syntax.BLOCK.match(text, self.end)
        if block is not None:
            return self._literal(*block.span("value"))
        opener = text[self.start - 1 : self.start]
        if opener in ("'", '"') and text[self.end] not in "\"'":  # the string is "name: value"
            stop = text.find(opener, at, at + syntax.LONGEST_LINE)
            whole = self._literal(at, stop - (text[stop - 1] == "\\")) if stop > at else None
            if whole is not None and "\n" not in text[at:stop]:
                return whole
        is_tight = text[operator.start() : at].strip("\"'`])") in ("=", ":")
        if is_tight and self._is_setting():
            return self._wide(at)
        return self._bare(at)

    def _of_several(self, at: int) -> Place | None:
        """The value of this name in an assignment to several: USER, PASSWORD = "…", "…"."""
        targets = syntax.TARGETS.search(self.text[max(0, self.start - 180) : self.start])
        for _ in range(targets["names"].count(",") if targets is not None else 0):
            source = syntax.SOURCE.match(self.text, at)
            at = source.end() if source is not None else len(self.text)
        return self._quoted(at) if targets is not None else None

    # What the value is

    def _joined(self, at: int) -> Place | None:
        """A string, with those that are added to it."""
        found, string = self._quoted(at), syntax.read_string(self.text, at)
        if found is None or string is None:
            return found
        for _ in range(20):
            glue = syntax.GLUE.match(self.text, string[2])
            more = syntax.read_string(self.text, glue.end()) if glue is not None else None
            if more is None:
                break
            string = more
        return found[0], max(found[1], string[1])

    def _quoted(self, at: int) -> Place | None:
        found = syntax.read_string(self.text, at)
        return self._literal(*found[:2]) if found is not None else None

    def _literal(self, start: int, stop: int) -> Place | None:
        value = self.text[start:stop]
        inner = value.strip()
        start += len(value) - len(value.lstrip())
        is_code = (
            self.name.label.rpartition("_")[2] in ("pin", "otp", "code") and syntax.DIGITS.fullmatch(inner) is not None
        )
        if self.name.label.endswith(("mnemonic", "phrase")) and syntax.MNEMONIC.fullmatch(inner) is not None:
            return start, start + len(inner)
        if self._is_constant_key():
            return (start, start + len(inner)) if looks_secret(inner) else None
        is_strong = self.name.is_strong or (self.name.label in ("pass", "pw") and " " not in inner)
        if is_code or is_literal_secret(inner, is_password=self.is_password, is_strong=is_strong):
            return start, start + len(inner)
        return None

    def _is_constant_key(self) -> bool:
        """True for a name such as OPENAI_KEY, which as many other things have as secrets."""
        return not self.name.is_strong and self.name.label.endswith("key")

    def _is_setting(self) -> bool:
        """True for NAME=value as shells and environments have it: no name of a program's code is written so."""
        before = self.text[max(0, self.start - 24) : self.start]
        is_word = self.text[self.end] == "=" and syntax.WORD_BEFORE.search(before) is not None
        return is_word or syntax.SET.search(before) is not None

    def _is_variable(self, at: int) -> bool:
        """True for a variable of an environment that is set: NAME=value, without blanks, is no line of code."""
        return self.text[self.start : self.end].isupper() and self.text[self.end : at] == "="

    def _wide(self, at: int) -> Place | None:
        """A value up to the next space, or up to what ends a part of an address or of a list of settings."""
        in_query = syntax.QUERY_BEFORE.search(self.text[max(0, self.start - 24) : self.start]) is not None
        pattern = syntax.NARROW if in_query or self.text[at - 1] != "=" else syntax.WIDE
        is_constant = self.text[self.start : self.end].isupper() and not self._is_constant_key()
        accept = is_word_secret if self.name.is_strong or is_constant else self._is_bare
        return self._checked(pattern.match(self.text, at), accept)

    def _bare(self, at: int) -> Place | None:
        """A value without quotes that may be code: the rest of a line of a configuration, or a value that is none."""
        text = self.text
        line = text.rfind("\n", 0, self.start) + 1
        lead = text[max(line, self.start - 160) : self.start].rpartition("\x1f")[2].rpartition("\x1e")[2]
        stop = text.find("\n", at, at + syntax.LONGEST_LINE)
        stop = stop if stop >= 0 else min(len(text), at + syntax.LONGEST_LINE)
        rest = re.split(r"[\x1e\x1f\r]|[ \t]#[ \t]|\\n", text[at:stop], maxsplit=1)[0].rstrip()
        is_line = syntax.LINE_LEAD.fullmatch(lead) is not None
        narrow = syntax.NARROW.match(text, at)
        found = (
            self._checked(narrow, self._is_bare)
            if narrow is not None and text[narrow.end() : narrow.end() + 1] not in ("(", "[")
            else None
        )
        if not is_line or not rest or not (self.name.is_strong or is_odd(rest.rstrip(syntax.TRAILING))):
            return found
        value = rest.rstrip(syntax.TRAILING) if rest[-1] in ",;:\"'`" else rest
        if " " in value or "\t" in value:
            is_whole = self.is_password and found is None and is_phrase(value)
            return (at, at + len(value)) if is_whole else found
        if found is not None and len(value) <= found[1] - found[0]:
            return found
        if any(c in value for c in "(){}[]") and found is None and narrow is not None and is_code_name(narrow[0]):
            return None
        if "." in value and is_code_name(value):
            return found
        is_word = (value.islower() and "_" not in value) or text[at - 1] == "="
        if (
            value.isidentifier()
            and not is_scrambled(value)
            and (not is_word or rest[-1] in ",;" or (not self._is_variable(at) and syntax.is_in_code(text, line, stop)))
        ):
            return None
        return (at, at + len(value)) if is_word_secret(value) else found

    def _is_bare(self, value: str) -> bool:
        if syntax.DIGITS.fullmatch(value) is not None:
            return self.name.label.rpartition("_")[2] in ("pin", "otp", "code", "passcode") or (
                self.is_password and len(value) >= 6 and self.name.is_strong
            )
        if not self.name.is_strong:
            return looks_secret(value)
        is_hyphened = "-" in value and value.replace("-", "").isalnum()  # no code
        return is_bare_secret(value, is_password=self.is_password) or (is_hyphened and is_odd(value))

    def _checked(self, found: re.Match[str] | None, accept: Callable[[str], bool]) -> Place | None:
        return self._checked_span(*found.span(), accept) if found is not None else None

    def _checked_span(self, start: int, stop: int, accept: Callable[[str], bool]) -> Place | None:
        value = self.text[start:stop].rstrip(syntax.TRAILING)
        return (start, start + len(value)) if value and accept(value) else None

    forms: ClassVar[tuple[_Form, ...]] = (
        _Form("\x1e", re.compile("\x1e"), _keyed),
        _Form("(", re.compile(r"\("), _argument),
        _Form("<", syntax.NEXT_ELEMENT),
        _Form(">\"'\\ ", syntax.ELEMENT, applies=_is_in_tag),
        _Form("", syntax.VALUE_FIELD, _field_at, _is_name_field),
        _Form(" ", syntax.VALUE_OPTION, _option_at),
        _Form("", _ANY, _value_before, may_fail=True),
        _Form("", _ANY, _option, _is_option),
        _Form("\"'`\\]", syntax.BLOCK_DEFAULT, _quoted),
        _Form("\"'`\\]", syntax.FILLED, _quoted),
        _Form("", syntax.PAIR, _pair),
        _Form(",", syntax.MORE_TARGETS, _of_several),
        _Form("", syntax.FALLBACK, _quoted),
    )
    """The syntaxes, in the order in which they are tried; what a sign or a word assigns comes after them."""
