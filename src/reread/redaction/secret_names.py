"""Names that say that what follows is a secret: `DB_PASSWORD`, `clientSecret`, `api-key`, `passwordForBackups`.

A name is read word by word, however it is written. What it is called at its end decides (`token_count` is a number),
and some words before that do too (`next_token` is a place in a list, `reset_password` an action).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from reread.redaction.words import words_regex

PASSWORD, TOKEN = "password", "key-or-token"

LANGUAGES: dict[str, str] = {
    "Arabic": "كلمة_المرور كلمة_السر كلمه_المرور رمز_المرور",
    "Basque": "pasahitza",
    "Bulgarian, Russian, Ukrainian": "пароль парол токен",
    "Catalan, Spanish": "contraseña contrasena contrasenya clave",
    "Chinese": "密码 密碼 口令 密钥 密鑰 秘钥 秘鑰 令牌",
    "Croatian, Serbian, Slovene": "lozink лозинк geslo",
    "Czech, Slovak": "heslo heslem",
    "Danish, Norwegian, Swedish": "adgangskode kodeord passord lösenord løsenord",
    "Dutch": "wachtwoord",
    "Estonian, Finnish": "parool salasana",
    "French": "clé",
    "German": "kennwort passwort losungswort schlüssel",
    "Greek": "κωδικός κωδικό συνθηματικό",
    "Hebrew": "סיסמה סיסמא סיסמת",
    "Hindi": "पासवर्ड कूटशब्द",
    "Hungarian": "jelszó jelszava",
    "Indonesian, Malay, Swahili": "sandi laluan nenosiri",
    "Japanese": "パスワード 暗証番号 トークン",
    "Korean": "비밀번호 암호 패스워드 토큰",
    "Latvian, Lithuanian": "parole slaptažodis",
    "Persian": "رمز_عبور گذرواژه رمزعبور",
    "Polish": "hasło hasłem",
    "Portuguese": "senha palavra-passe",
    "Italian, Romanian, Turkish": "parola parolă şifre sifre",
    "Thai": "รหัสผ่าน",
    "Vietnamese": "mật_khẩu",
}
"""The words for a password or key, or how they begin: what ends them differs, and so does what means "is"."""
_ELSEWHERE = [word.replace("_", " ") for words in LANGUAGES.values() for word in words.split()]
_ASCII_ELSEWHERE = [word for word in _ELSEWHERE if word.isascii() and word.isalpha()]
_FOREIGN_NAME = re.compile(words_regex(_ASCII_ELSEWHERE).pattern + r"[a-z]{0,4}")
FOREIGN_WORD = re.compile(
    words_regex(
        form for word in _ELSEWHERE if not word.isascii() for form in (word, word[0].upper() + word[1:], word.upper())
    ).pattern
    + r"[^\W\x00-\x7f]{0,6}"
)
"""Those of them that have other letters than ASCII, which are names in no code."""
FOREIGN_LETTER = re.compile(f"[{''.join(sorted({c for word in _ELSEWHERE for c in word + word.upper() if c > '~'}))}]")
"""Each of these has such a letter; few texts do, and this is faster."""

STEMS = (
    *"pass pwd pw pswd secret token cred auth key pin otp sessid session_ sessionid jwt bearer mnemonic seed_".split(),
    *"connection_ connectionstr _code _phrase psk".split(),
    *_ASCII_ELSEWHERE,
)
"""Nearly every name of a secret contains one of these, in lower case."""

LONGEST = 64
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "pswd", "passw", "psk", "masterauth")
_PASS_WORDS = frozenset(
    """bypass compass surpass encompass trespass overpass underpass subpass multipass lowpass highpass bandpass allpass
    lopass hipass""".split()
)
"""Words that end with "pass" and have nothing to do with passwords."""
_NO_PASSWORD_BEFORE = frozenset(
    """first second third last next previous each single two multi render shader low high band all by test tests check
    compiler optimizer optimization analysis lint num max min did does will can should must opt forward backward back
    1 2 3 one per the a this that every another to fail build dry""".split()
)
"""The words before "pass" where it is a run through something."""
_OWNERS = frozenset("root admin user db my ftp ssh mail smtp sql pg db2 ldap bind sudo login".split())
"""The letters before "pw" in one word."""
_TOKENS = ("secret", "apikey", "accesskey", "privatekey", "authkey", "signingkey", "secretkey", "authtoken")
_SECRETS = frozenset("secret secrets token credential credentials creds cred jwt bearer passkey mnemonic".split())
_KEYS = frozenset(
    """api app application access private auth sign signing encrypt encryption decryption crypt crypto master account
    license licence client secret subscription service shared storage ssh gpg pgp deploy deployment consumer hmac jwt
    webhook session write admin ingest ingestion integration rest management tunnel join unseal recovery wif wallet maps
    validator instrumentation cookie csrf cipher aes des rsa ecdsa totp otp personal developer sas bot fernet
    preshared""".split()
)
"""The words before "key" in the name of a secret one."""
_OTHER_SECRETS = frozenset(
    tuple(name.split("-"))
    for name in """connection-string otp-seed seed-phrase recovery-phrase session-id session-key session-cookie
    auth-cookie access-code auth-code security-code pin-code one-time-code recovery-code backup-code
    secret-key-base""".split()
)
_WEAK = frozenset("auth pin otp pw sessionid sid pass".split())
"""Words that are the name of a secret only if the value looks like one."""

HARMLESS_AFTER = frozenset(
    """type types name names count counts limit limits url uri urls path paths file files filename length len size
    format field fields label labels hint style kind kinds status expiry expires expire expiration ttl ids error errors
    reset policy policies manager input inputs usage index idx used budget version versions algorithm algo prompt
    required
    strength placeholder per in estimate estimated ratio cost costs class classes scope scopes provider providers
    endpoint endpoints env var vars variable resolver factory store stores storage validator validators validation
    regex pattern rule rules iterator list lists set sets map maps stream streamer izer ize ized tokenizer changed
    change changes updated created expired invalid valid missing exists exist enabled disabled enable disable mode
    method methods strategy ref refs reference arn encryption handler helper helpers service services utils util
    controller component form page screen view dialog modal button icon text title message messages description desc
    help info tooltip visible visibility shown show toggle match matches mismatch rotation rotate age min max minimum
    maximum position offset offsets range ranges start end column line lines row rows source sources cache context
    contexts request requests response responses callback listener event events config configuration settings options
    option params param args arg props prop state hook hooks reducer action actions test tests spec fixture mock stub
    bytes chars characters complexity attempts retries retry verified verification verify check checker checks checked
    hasher hashing hashes encoder decoder parser generator exchange grant flow issuer audience subject claims claim
    header headers prefix suffix separator sep delimiter dir directory folder location bucket table model schema dto
    entity repository repo module package lib library plugin extension interface impl base abstract protocol client
    server middleware guard decorator annotation attribute attributes property properties rate quota window budgets
    throughput second minute hour day total sum average mean pair""".split()
)
"""Words after the name of a secret with which it is about one and does not hold one."""
_HARMLESS_END = frozenset("at id hash on by of is s".split())
"""The same, if they are the last."""
_HARMLESS_BEFORE = frozenset(
    """forgot forgotten reset change has have is no not invalid missing wrong incorrect require requires required use
    uses show hide toggle verify validate check next page continuation pagination sync max min num total count pad eos
    bos unk mask sep cls special cancel cancellation stop input output prompt completion public primary foreign sort
    partition row composite unique hash range cache map object dict sub super visible last first current peek
    lookahead previous prev start end open close without unexpected expected allow supports should can will did does
    get fetch find create delete remove update generate make build parse read load write save list expired revoked
    design theme color colour css text word punctuation operator identifier keyword string number comment whitespace
    newline lexer parser syntax semantic ast cursor resume skip step search query""".split()
)
"""Words right before the name of a secret with which it is none."""
_NO_SECRET_KEYS = frozenset("map object dict index data idx sort order group config json item node event".split())
"""The words before "KEY" in the name of a constant that is no secret, besides those that are harmless anywhere."""
_PROSE_KEYS = re.compile(
    r"(?i)(?:\b(api|access|private|secret|encryption|signing|license|master|account|auth)[ _]){1}\Z"
)


_WORD_BEFORE = re.compile(r"[A-Za-z]{2} \Z")
SOME_KEY = "some_key"
"""The label of a key of which a sentence says that it is one, as of the weather service: only what is random is."""


class SecretName(NamedTuple):
    """A name that says that what follows is a secret."""

    kind: str
    is_strong: bool
    """True if whatever follows is one, however it looks."""
    label: str
    """The name as one word, the same for all spellings."""

    @property
    def is_vague(self) -> bool:
        """True for a name of ids, which are secret only where a server takes one for a password, and of any key."""
        return not self.is_strong and self.label.endswith(("session_id", "sessionid", "sessid", "sid", SOME_KEY))

    is_foreign: bool = False
    """True for a word of another language, which only people write."""


@lru_cache(maxsize=16_384)
def read_name(name: str) -> SecretName | None:
    """Return what the name of a value says; None if it does not say that this is a secret."""
    words = [word.lower() for word in _WORD.findall(name.strip("-_."))]
    while words and words[-1].isdigit():
        words.pop()
    for at in range(len(words) - 1, -1, -1):
        found = _noun(words[: at + 1])
        if found is None:
            continue
        kind, size, is_strong = found
        after, before = words[at + 1 :], words[: at + 1 - size]
        if not HARMLESS_AFTER.isdisjoint(after) or (after and after[-1] in _HARMLESS_END):
            return None
        is_clear_text = kind == PASSWORD and before[-1:] == ["text"]
        is_reset = kind == TOKEN and before[-1:] == ["reset"]  # what a link has, no action
        if before and before[-1] in _HARMLESS_BEFORE and not is_clear_text and not is_reset:
            return None
        return SecretName(kind, is_strong, "_".join(words), _FOREIGN_NAME.fullmatch(words[at]) is not None)
    if words[-1:] == ["key"] and name.isupper():
        is_harmless = len(words) > 1 and (words[-2] in _HARMLESS_BEFORE or words[-2] in _NO_SECRET_KEYS)
        return None if is_harmless else SecretName(TOKEN, False, "_".join(words))
    return None


def name_in_words(word: str, before: str) -> SecretName | None:
    """Return what the last word of a name says, given what stands before it: "the API key", "mot de passe", "?key="."""
    if word == "passe":
        return SecretName(PASSWORD, True, "mot_de_passe", True) if before.lower().endswith("mot de ") else None
    if word != "key":
        return None
    if before.endswith(("?", "&")):
        return SecretName(TOKEN, False, "key")
    found = _PROSE_KEYS.search(before)
    if found is not None:
        return SecretName(TOKEN, True, f"{found[1].lower()}_key")
    return SecretName(TOKEN, False, SOME_KEY) if _WORD_BEFORE.search(before) is not None else None


def _noun(words: list[str]) -> tuple[str, int, bool] | None:
    """Return the kind of secret that some words end with, how many of them say so, and whether they leave no doubt."""
    word = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if word.endswith(_PASSWORDS) or (word == "word" and before == "pass") or _FOREIGN_NAME.search(word) is not None:
        return PASSWORD, 1, True
    if word == "pass" and before:
        return None if before in _NO_PASSWORD_BEFORE else (PASSWORD, 1, True)
    if word.endswith("pass") and word != "pass" and word not in _PASS_WORDS:
        return PASSWORD, 1, True
    if word.endswith("pw") and word[:-2] in _OWNERS:
        return PASSWORD, 1, True
    if word in ("pw", "pin", "pass"):
        return PASSWORD, 1, word == "pw" and bool(before)
    if word == "phrase" and before == "pass":
        return PASSWORD, 2, True
    if word == "key" and (before in _KEYS or before.endswith(("secret", "access"))):
        return TOKEN, 2, True
    if word.endswith(_TOKENS) or (word.endswith("token") and word != "token"):
        return TOKEN, 1, True
    if word in _SECRETS:
        return TOKEN, 1, bool(before) or word in ("secret", "mnemonic", "passkey")
    if tuple(words[-2:]) in _OTHER_SECRETS or tuple(words[-3:]) in _OTHER_SECRETS:
        return TOKEN, 2, word not in ("id", "code")
    if word in _WEAK or word.endswith(("sessionid", "sessid")):
        return TOKEN, 1, False
    return None
