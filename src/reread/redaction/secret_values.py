"""The test for the value of a secret: not a reference to one, a placeholder, a type, a name in code or a sentence."""

from __future__ import annotations

import re

SHORTEST = 4

_REFERENCE = re.compile(
    r"(?i)\$[a-z_][\w.:]*|\$[a-z_]\w*(?:->|\[|\{).*|\$[0-9@*#]|\$?\{.*|\$\(.*|%[\w.-]+%"
    r"|%\(?\w*\)?[sdvqr]?|<[^<>]*>?|@\w+@|:[a-z_]\w*"
    r"|!(?:ref|getatt|sub|vault|secret|env_var)\b.*|#\{.*|&\w+;?|\*[a-z_]\w*|#[0-9a-f]{3,8}"
)
"""A variable, a template, a place to fill in, or a colour."""
_REFERENCE_WITHIN = re.compile(
    r"(?i)process\.env|os\.environ|getenv|\benviron\b|import\.meta|\bsecrets\.|\bvault:|\benv\.|\$\{|\{\{"
    r"|\$\(|%\{|#\{|<%|\*\*\*|•••"
    r"|\.\.\.|…|xxxx|\{\w*\}"
)
_ALGORITHM = re.compile(
    r"(?i)(?:scram-)?(?:hmac-)?(?:sha|md|aes|hs|rs|es|ps)[-_]?\d{1,3}(?:[-_](?:cbc|gcm|ctr|\d{3}))*(?:-plus)?"
)
_PLACEHOLDER_WORDS = frozenset(
    """null none nil true false yes no on off undefined nan void string str bytes int integer bool boolean number float
    char varchar any object text unknown optional required todo tbd fixme dummy test tests testing example examples
    changeme change me placeholder redacted hidden masked removed filtered secret secrets password passwd pwd
    passphrase token tokens bearer basic apikey api key keys default empty missing invalid expired value values self
    this func function async await return input prompt env environment option options admin user username users root
    pass your my the a an some insert replace with here goes enter put add fake sample mock foo bar baz access client
    private public auth db database id name field fields label type data content auto literal unset blank readonly new
    old current confirm confirmation repeat again credentials credential login logout email mail hash hashed encrypted
    plain plaintext raw encoded required_field include omit same origin inherit from generated random uuid md5 sha1
    sha256 sha512 bcrypt scrypt argon2 argon2id base64 hex utf8 ascii scram oauth oauth2 oidc saml ldap kerberos ntlm
    digest local jwt cookie cookies header headers query body session sessions jws weak strong medium valid wrong
    incorrect correct ok good bad success failure failed error warning info debug typeof let const var export import
    class interface enum struct not and or is was if else elif for while in of to be set get post delete patch show
    hide forgot reset update create read write verify check sms totp mfa otp pin code string[] list dict map array
    tuple promise buffer result secretstr select where into alter table column primary foreign unique index constraint
    stdin stdout stderr prod production dev development staging stage ci files systemd compat""".split()
)
"""A value of these words alone stands for another, or describes one."""
_NUMBERED = re.compile(r"[a-z]+(?:[-_ ][a-z]+)+[-_ ][0-9]{1,3}")
"""A name as tests make it up: test-session-1."""
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ONLY_WORDS = re.compile(r"[\w .,:/<>\[\](){}?!'\"@-]*", re.ASCII)
_SECRET_STEM = re.compile(
    r"(?i)passw|passphrase|token|secret|pwd|credential|api[-_]?key|private[-_]?key|access[-_]?key"
)
_CODE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*[!?]?", re.ASCII)
"""A name in code, with what it belongs to."""
_CALL = re.compile(r"[A-Za-z_$][\w$.:]*(?:\(.*|\[.*\])", re.ASCII | re.DOTALL)
_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?:[-_ ][A-Za-z]+)*", re.ASCII)
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT_WITHIN = re.compile(r"[A-Za-z][0-9][a-z]+[0-9][a-z]|[A-Za-z][0-9][a-z]{2,}[0-9]")
"""Digits between letters, which names in code seldom have twice."""
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@$-]+[/\\])+[\w.@*-]*|\.{0,2}/[\w-]+(?:\.\w{1,8})?", re.ASCII)
_FILE = re.compile(r"[\w./-]+", re.ASCII)
_FILE_ENDINGS = frozenset(
    "js ts tsx py rb go rs java json yml yaml toml md txt pem key crt html css sh env sql log xml".split()
)
_ADDRESS = re.compile(r"(?:https?|file|ftp|wss?|s3|git)://[^@]*")
UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_SENTENCE_END = re.compile(r"[.!?:,]\Z|[.!?:,] ")
_GRAMMAR = frozenset(
    """the a an to of is are was were be been for must should can could may might will would with your you we i and or
    not no in on if this that these those it its at by from as has have had do does did when then than but so such via
    per which who what how why where there here only also any all each every both more most least using used use enter
    required please into over under out up off must-be too very until unless while because contain contains containing
    characters character chars long between minimum maximum length cannot can't don't isn't doesn't must-not match
    matches""".split()
)
_PREDICATE = re.compile(
    r"(?:.*(?:ed|ing|able|ible|ful|less|ive|ous|ly|ory|ary|ent|ant|ation|ity|ness|ment)|wrong|correct"
    r"|incorrect|right|weak|strong|short"
    r"|long|too|safe|secure|okay|fine|good|bad|new|old|empty|blank|set|unset|sent|kept|lost|given|known"
    r"|unknown|written|read|shown"
    r"|hidden|stale|gone|here|there|right|left|just|still|also|never|always|now|then|it|that|this|what|how"
    r"|where|why|when|one|two"
    r"|part|not|only|case|both|all|any|some|more|less|same|other|up|out|in|on|off|at|as|by|for|from|to|of|with"
    r"|ok|fake|real|null"
    r"|plain|text|public|private|valid|invalid|true|false|null|none|string|optional|unique|static|global|local"
    r"|dynamic|random"
    r"|non|un\w+|re\w+|over|under|like|about|equal|ready|the|an?|and|or|but|so|if|stored|data|bytes|hash"
    r"|base64|open|done|fresh)"
)
"""The words about a password in a sentence."""


def is_reference(value: str) -> bool:
    """True for what stands for a value: a variable, a template, a mask, a placeholder, a type, a keyword."""
    if _REFERENCE.fullmatch(value) is not None or _REFERENCE_WITHIN.search(value) is not None:
        return True
    if len(set(value)) <= 2 or _ALGORITHM.fullmatch(value) is not None:
        return True
    if _DIGIT.search(value) is not None and value.lower() not in _PLACEHOLDER_WORDS and not _NUMBERED.fullmatch(value):
        return False
    if _ONLY_WORDS.fullmatch(value) is None:
        return False
    words = [word.lower() for word in _WORDS.findall(value) if not word.isdigit()]
    return all(word in _PLACEHOLDER_WORDS for word in words)


def _is_no_value(value: str) -> bool:
    return is_reference(value) or is_place(value) or _CALL.fullmatch(value) is not None


def is_literal_secret(value: str, *, is_password: bool, is_strong: bool) -> bool:
    """True if a text that is certainly no code can be a secret, given how sure its name is."""
    if not is_strong and ("../" in value or value[:1] == "/" or UUID.fullmatch(value)):  # paths, and ids of sessions
        return False
    if len(value) < SHORTEST or _is_no_value(value):
        return False
    if not is_strong:
        return looks_secret(value) or is_odd(value)
    if is_sentence(value):
        return False
    if _SECRET_STEM.search(value) is not None and is_code_name(value.replace("-", "_").replace(" ", "_")):
        return False
    return is_password or not _is_plain_token(value)


def _is_plain_token(value: str) -> bool:
    """True for a value of a key or token that is a name or a word."""
    if len(value) < 6 or value.isdigit():
        return True
    return " " in value.strip() or (len(value) < 8 and _DIGIT.search(value) is None)


def is_bare_secret(value: str, *, is_password: bool) -> bool:
    """True if a value without quotes, which may be code, is a secret."""
    if len(value) < SHORTEST or _is_no_value(value):
        return False
    if value.isdigit():
        return is_password and 6 <= len(value) <= 12
    if _SECRET_STEM.search(value) is not None and is_code_name(value.replace("-", "_")):
        return False
    is_mixed = _DIGIT.search(value) is not None and len(value) >= 6
    return (is_mixed or is_scrambled(value)) and not is_code_name(value)


def is_word_secret(value: str) -> bool:
    """True if a value of letters alone, or of words with hyphens, can be a secret where only values stand."""
    if len(value) < SHORTEST or _is_no_value(value):
        return False
    return not (_SECRET_STEM.search(value) is not None and is_code_name(value.replace("-", "_")))


def looks_secret(value: str) -> bool:
    """True if a value looks like a secret by itself: letters and digits mixed, and no name, path or number."""
    if len(value) < 8 or _is_no_value(value) or " " in value.strip() or UUID.fullmatch(value) is not None:
        return False
    is_mixed = _DIGIT.search(value) is not None and _LETTER.search(value) is not None
    return (is_mixed or is_scrambled(value)) and not is_code_name(value)


def is_mixed(value: str) -> bool:
    """True if a value that looks like a secret also has letters of both cases, or signs."""
    has_case = any(map(str.isupper, value)) and any(map(str.islower, value))
    return looks_secret(value) and (has_case or not value.isalnum())


def is_chosen(value: str) -> bool:
    """True for letters of both cases with digits, as a password is to have, and no name in code, such as `ViewV2`."""
    has_all = all(any(map(test, value)) for test in (str.isupper, str.islower, str.isdigit))
    return is_mixed(value) and has_all and (sum(map(str.isdigit, value)) > 1 or not value.isalnum())


def is_odd(value: str) -> bool:
    """True for a value that is no single word: letters with digits, or several words with signs between them."""
    if len(value) < 6 or not is_word_secret(value) or " " in value or UUID.fullmatch(value) is not None:
        return False
    if _DIGIT.search(value) is not None and _LETTER.search(value) is not None:
        return _CODE.fullmatch(value) is None or value.rstrip("!?").isalnum()
    return (
        len(value) >= 12 and sum(not character.isalnum() for character in value) >= 2 and _CODE.fullmatch(value) is None
    )


def is_place(value: str) -> bool:
    """True for a path, the name of a file, or an address without a password."""
    if _PATH.fullmatch(value) is not None or _ADDRESS.fullmatch(value) is not None:
        return True
    return value.rpartition(".")[2] in _FILE_ENDINGS and "." in value and _FILE.fullmatch(value) is not None


def is_code_name(value: str) -> bool:
    """True for a name in code or in a configuration, such as `config.api_key_2` or `AUTH_TOKEN`."""
    if _CODE.fullmatch(value) is None or is_scrambled(value):
        return False
    words = [word for word in re.split(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])", value) if word]
    digits = sum(character.isdigit() for character in value)
    return digits <= 2 and not _DIGIT_WITHIN.search(value) and len(words) <= 8 and all(len(word) > 1 for word in words)


def is_scrambled(value: str) -> bool:
    """True for letters and digits that change so often between upper and lower case that no name is written so."""
    return len(value) >= 14 and value.isalnum() and len(_WORDS.findall(value)) * 2.7 > len(value)


def is_wordlike(value: str) -> bool:
    """True for a word or several, which other texts may have for other reasons."""
    return _PLAIN_WORDS.fullmatch(value) is not None and not is_scrambled(value)


def is_random(value: str) -> bool:
    """True for letters and digits in no order, as nobody writes them by hand."""
    plain = value.replace("-", "").replace("_", "").replace(".", "")
    return len(plain) >= 16 and UUID.fullmatch(value) is None and is_scrambled(plain)


def is_sentence(value: str) -> bool:
    """True for words that say something, which a passphrase does not."""
    words = value.split()
    if len(words) < 2:
        return False
    if not value.isascii() or (words[0][:1].isupper() and words[1].islower()) or not set("<>()'\"").isdisjoint(value):
        return True
    if _SENTENCE_END.search(value.strip()) is not None or _SECRET_STEM.search(value) is not None or len(words) > 24:
        return True
    return any(word.lower() in _GRAMMAR for word in words) or all(word.lower() in _PLACEHOLDER_WORDS for word in words)


def is_phrase(value: str) -> bool:
    """True for a passphrase of several words."""
    words = value.split()
    if not 2 <= len(words) <= 24 or any(len(word) > 24 for word in words) or is_reference(value) or is_sentence(value):
        return False
    return sum(word.lower() in _PLACEHOLDER_WORDS for word in words) * 2 < len(words)


def is_said_secret(value: str) -> bool:
    """True for a word in "the password is …" that is one, not what is said of it."""
    word = value.lower()
    return is_word_secret(value) and word not in _GRAMMAR and _PREDICATE.fullmatch(word) is None
