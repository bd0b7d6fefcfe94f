"""The syntax around a name and its value, in configurations, code, markup, commands and sentences."""

from __future__ import annotations

import re

LONGEST_VALUE = 4_096
LONGEST_LINE = 400
CLOSING = r"(?:\\{0,8}[\"'`”’]|[)\]*]){0,5}[ \t]{0,12}"
"""Text between a name and the sign that assigns its value: the end of a string, an index, emphasis."""
IS = (
    *(
        "is now",
        "is set to",
        "was set to",
        "(?:was |been )?(?:re)?set to",
        "(?:was |been )?changed to",
        "is|to be|to",
    ),
    "(?:with|has|to) (?:the )?value",
    *("was", "be", "equals", "ist", "lautet", "est", "es", "é", "è", "er", "är", "je", "este", "jest", "adalah"),
)
"""What stands between a name and its value in a sentence; words of other languages also have names without it."""
_OF = r"(?:[(\[][^()\[\]\n]{1,40}[)\]]|[^\s:=|,;(){}<>.]{1,24}(?:[ \t][^\s:=|,;(){}<>]{1,24}){0,5}?)"
"""What a name is of, or for, in a sentence."""
OPERATOR = re.compile(
    CLOSING + r"(?:"
    r"(?P<typed>:[ \t]{0,2}(?:&'static )?[A-Za-z_&][\w.\[\]<>?&',]{0,30}(?: \| [\w.\[\]]{1,20}){0,2}"
    r"[ \t]{1,2}=(?=[ \t])"
    r"|[Aa]s \w{1,30} =)"
    r"|(?P<assign>:=|\?=|\+=|=>|={1,3}|->|<-|::(?=[ \t])|:(?![:=])|[→＝：])"
    r"|(?P<dash>[–—-](?=[ \t]))"
    r"|(?P<said>(?:(?P<of>" + _OF + r")[ \t])??"
    r"(?:" + "|".join(IS) + r")(?=[\s:]):?|(?P<of_it>" + _OF + r")[ \t]?[:=](?=\s))"
    r"|(?P<cell>\|)"
    r")\*{0,2}[ \t]{0,12}",
    re.ASCII,
)
FALLBACK = re.compile(
    r"[\"'\])]{0,3}[ \t]{1,3}(?:(?:\|\||\?\?|or)[ \t]{1,3}|\{ get;[^{}\n]{0,24}\} = )(?=\\{0,8}[\"'`])"
)
"""The text before the string for a missing value: process.env.JWT_SECRET || "…"."""
GLUE = re.compile(
    r"[ \t\\\r\n]{0,40}(?:\+|\.{1,2}|&)[ \t\\\r\n]{0,40}(?=[\"'])|[ \t]{1,4}(?=[\"'])"
    r"|[ \t\\]{0,4}\r?\n[ \t]{1,40}(?=[\"'])"
)
"""The text between the strings that make up one value."""
BLOCK_DEFAULT = re.compile(r"[\"'][ \t]{0,4}\{[^{}]{0,300}?\bdefault[ \t]{0,20}=[ \t]{0,4}(?=[\"'])")
"""The text before the default of a variable of Terraform."""
FILLED = re.compile(
    r"(?:\\{0,8}[\"'`\]]){1,4}\){1,2}\."
    r"(?:fill|type|send_?[kK]eys|set_?[vV]alue|press_?[sS]equentially|input)\([ \t]{0,2}"
    r"(?=\\{0,8}[\"'`])"
)
"""The text before the one that a script types into a field of this name."""
TARGETS = re.compile(r"(?:\A|[\n\x1e\x1f])[ \t]{0,40}(?P<names>(?:[\w.]{1,40},[ \t]{0,4}){0,4})\Z")
"""The names before this one in an assignment to several."""
MORE_TARGETS = re.compile(r"(?:,[ \t]{0,4}[\w.]{1,40}){1,4}[ \t]{0,4}:?=[ \t]{0,4}(?!=)")
"""The names after this one, and what assigns their values."""
SOURCE = re.compile(r"(?:\\{0,8}[\"'][^\"'\n]{0,80}[\"']|[\w.()\[\]]{1,60}),[ \t]{0,4}")
VALUE_BEFORE = re.compile(
    r"[vV]alue\\{0,8}[\"']?[ \t]{0,4}[=:\x1e][ \t]{0,4}\\{0,8}(?P<quote>[\"']?)(?P<value>[^\s\"'\\\x1e\x1f]{4,200})"
    r"\\{0,8}(?P=quote)[\s,\x1f]{1,40}\\{0,8}[\"']?(?:name|key|type|id|Name|Key)\\{0,8}[\"']?[ \t]{0,4}"
    r"[=:\x1e][ \t]{0,4}\\{0,8}[\"']?\Z"
)
"""A value that stands before its name: `<input value="…" type="password">`."""
ELEMENT = re.compile(
    r"(?:\\{0,8}[\"'])?[^<>\n\x1e\x1f]{0,80}>[ \t\r\n]{0,40}(?:<[vV]alue>)?"
    r"(?:<!\[CDATA\[)?(?P<value>[^<>\x1e\x1f]{1,400}?)[ \t\r\n]{0,40}(?:\]\]>)?</"
)
"""The content of an element of XML, or of the one that holds its value."""
NEXT_ELEMENT = re.compile(
    r"</[\w:.]{1,40}>[ \t\r\n]{0,40}<(?:\w{1,20}:)?(?:[vV]alue|string|td|dd)>(?:<code>)?"
    r"(?P<value>[^<>\x1e\x1f]{1,400})</"
)
"""The element after one that holds a name."""
VALUE_FIELD = re.compile(
    r"(?:\\{0,8}[\"'`](?=[\s,;])|(?=[\n\x1f]|,[ \t]|[ \t]value=[\"']))[\s,;\x1f]{1,40}(?:\\{0,8}[\"'`])?"
    r"(?:[tT]ype\\{0,8}[\"']?[ \t]{0,4}[:\x1e][ \t]{0,4}\\{0,8}[\"']?\w{1,20}\\{0,8}[\"']?[\s,\x1f]{1,40}"
    r"(?:\\{0,8}[\"'`])?)?"
    r"(?:\w{0,16}[vV]alue|content(?==))(?:\\{0,8}[\"'`])?[ \t]{0,4}[=:\x1e][ \t]{0,4}(?=(?P<next>\S))"
)
"""The text before the value where the name is one itself: `name="password" value="…"`, also on the next line."""
VALUE_OPTION = re.compile(
    r"(?:[ \t]{1,4}-[\w-]{1,24}(?:[ \t=][\w./-]{1,60})?){0,3}[ \t]{1,4}--?(?:value|body)[ \t=]{1,4}"
)
"""The text before the value of a variable that a command sets."""
PAIR = re.compile(r"\]?\\{0,8}[\"'`](?:\]\\{0,8}[\"'`])?[ \t]{0,4},[ \t]{0,4}(?=\\{0,8}[\"'`])")
BLOCK = re.compile(r":[ \t]{0,4}[|>][+-]?[ \t]*\r?\n[ \t]{1,40}(?P<value>[^\s\x1e\x1f][^\r\n\x1e\x1f]{0,400})")
"""A value of YAML that begins on the next line."""
NEXT_LINE = re.compile(
    r"(?:[\"'`*_]{0,4}[ \t]{0,2}(?P<sign>[:=])[*_]{0,2}[ \t]{0,2}\(?|(?<=[a-z:])[*_]{0,3}(?=[ \t]*\r?\n))[ \t]*\\?\r?\n"
    r"(?:[ \t]*(?:[-=~]{3,40}[ \t]*)?\r?\n){0,2}(?:```\w{0,12}\r?\n)?[ \t`\"'>]{0,40}"
    r"(?P<value>[^\s\"'`\x1e\x1f]{4,200})[ \t\"'`,;)]{0,4}(?=[\r\n\x1e\x1f]|\Z)"
)
"""A value that is alone on the next line."""
OPENING = re.compile(r"(?:[rRbBuUfFLN@$]{1,2}(?=[\"'`]))?(?P<slashes>\\{0,8})(?P<quote>\"\"\"|'''|[\"'`“‘«„「『])")
CLOSERS = {"“": "”", "‘": "’", "«": "»", "„": "“", "「": "」", "『": "』"}
WRAPPER = re.compile(
    r"(?:new[ \t]{1,2})?[\w.:$]{1,48}\([ \t]{0,2}(?:[\w.]{1,24}=)?(?=\\{0,8}[rb]?[\"'`])"
    r"|[\w.$?!:>-]{1,60}(?:\([^()\n]{0,60}\)|\[[^\]\n]{0,60}\])?[ \t]{1,2}(?:\|\||\?\?|or|\?:)[ \t]{1,2}"
    r"(?=\\{0,8}[\"'`])"
)
"""A call with a string, or something with a string as its default."""
WIDE = re.compile(r"[^\s\x1e\x1f]{1,300}")
NARROW = re.compile(
    r"[^\s\"'`,;&|<>(){}\[\]\\\x1e\x1f]{1,300}(?:&(?![\w.-]{1,40}=)[^\s\"'`,;&|<>(){}\[\]\\\x1e\x1f]{0,60}){0,2}",
    re.ASCII,
)
LINE_LEAD = re.compile(
    r"(?:[\w./-]{1,120}:\d{1,7}[:-])?[ \t0-9→:|+<>│#*\"'`_\\-]{0,40}"
    r"(?:[A-Za-z][\w-]{0,39}[ \t/]{1,4}){0,3}(?:\$(?:env:|\{?))?"
)
"""Text before the name on a line that has nothing but it and its value."""
_SET = (
    r"(?:export|setx?|SET|setenv|declare|local|readonly|ENV|ARG|env|-e|--env|--build-arg|--from-literal|--set|-var|-D)"
)
SET = re.compile(r"\$env:\Z|%26\Z|[?&;][\w.\[\]-]{0,40}\Z|" + _SET + r"[ \t=]?[\"']?[\w.]{0,24}\Z")
"""What stands before a name that a shell, an environment or an address gives a value."""
SETS = re.compile(
    r"(?:\A|[\s;&|(\"'`])(?:config(?:ure)?|set|put|add|env|connect|modify|create|update|login|user(?:name)?)"
    r"[ \t:-][^\n]{0,80}\Z"
)
"""A command that sets what is named later on its line."""
CELL = re.compile(r"[`*]{0,2}(?P<value>[^\s|`*]{4,200})[`*]{0,2}[ \t]{0,40}(?:\||(?P<last>(?=[\r\n\x1e\x1f]|\Z)))")
SPACE = re.compile(r",?[ \t]{1,4}(?:--plaintext |[0-9] )?(?:\((?=[\"'`\w]))?")
ASCII_WORD = re.compile(r"[A-Za-z0-9!#$%*+./:=?@^_~-]{4,120}")
SET_BEFORE = re.compile(
    r"(?:ENV|ARG|setx|setenv|SetEnv|set -x|config set|proxy_set_header|add_header)[ \t]{1,2}(?:-\w )?\Z"
)
"""A command that gives the name behind it the value behind that."""
SETTER = re.compile(
    r"(?i)(?:set|put|add|append|header|env|fetch|get|property|insert|define|item|var|type|fill|with|basic"
    r"|of)\w{0,16}[\"'\])]{0,2}\([^()\n]{0,60}\Z"
)
CODE_LINE = re.compile(
    r"[(){};]|=>|->|\b(?:def|return|const|let|var|import|self|this|function|class|if|else|for|fn|pub|func"
    r"|struct|interface|type|public|private"
    r"|str|int|bool|string|number|boolean|float|bytes|any|None|null)\b"
)
PROSE_BEFORE = re.compile(r"[a-z'’)] |\A|[\n(] ?")
"""What stands before a word of a sentence."""
QUERY_BEFORE = re.compile(r"[?&;](?:[\w.\[\]-]{0,40})\Z")
AS = re.compile(
    r"(?:\A|[\s\"'`:])([^\s\"'`:]{4,80})[\"'`]? (?:(?:in|into) \w{1,12} )?(?:(?:in|into) (?:the )?\w{1,20} )?"
    r"(?:as|is|are|for) (?:the |my |your |our |its |a |an )?(?:[\w-]{1,20} )?\Z"
)
SQL_BEFORE = re.compile(r"(?i)\b(?:with|user|role|encrypted|set|login|by)\s{1,4}(?:\S{1,40}\s{1,4})?\Z")
HOLDER = re.compile(r"(?i)secret|passw|secure|str|byte|encode|some|char")
WORD_BEFORE = re.compile(r"[^\s,(\[{=:][ \t]{1,4}\Z")
"""The end of another word of the same line, which is no argument of a call."""
MNEMONIC = re.compile(r"(?:[a-z]{3,8} ){11,23}[a-z]{3,8}")
"""The words from which the keys of a wallet are made."""
DIGITS = re.compile(r"[0-9](?:[ -]?[0-9]){3,9}")
MARKS = " \t0123456789+-→|*#>"
TRAILING = ".,:;!?\"'`)]}>*_\\"
MIXED_END = re.compile(
    r"(?i).{0,50}(?:passw(?:or)?d|passphrase|token|secret|api_?key)[-_.](?P<value>[A-Za-z0-9]{12,60})(?:\.\w{1,5})?"
)
"""A name, as of a file, that has the value at its end."""


def is_in_code(text: str, start: int, stop: int) -> bool:
    """True if a line stands between lines of code."""
    above = text[max(0, start - 200) : max(0, start - 1)].rpartition("\n")[2]
    below = text[stop + 1 : stop + 200].partition("\n")[0]
    return any(CODE_LINE.search(near) is not None for near in (above, below))


def read_string(text: str, at: int) -> tuple[int, int, int] | None:
    """Return where a string begins and ends, and where its quotes end."""
    opening = OPENING.match(text, at)
    if opening is None:
        return None
    start, quote = opening.end(), opening["quote"]
    closing = opening["slashes"] + CLOSERS.get(quote, quote)
    limit = start + (LONGEST_VALUE if len(quote) == 3 else LONGEST_LINE)
    stop = text.find(closing, start, limit)
    while stop > start and not opening["slashes"] and text[stop - 1] == "\\" and text[stop - 2] != "\\":
        stop = text.find(closing, stop + 1, limit)
    inside = text[start:stop] if stop >= 0 else ""
    if stop <= start or "\x1e" in inside or "\x1f" in inside or ("\n" in inside and len(quote) < 3):
        return None
    return start, stop, stop + len(closing)
