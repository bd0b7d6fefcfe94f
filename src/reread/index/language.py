"""What is known of languages: the words that questions are made of, and forms of the same word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from reread.index.engine import tantivy
from reread.index.query import QUESTION_WORDS
from reread.index.terms import words

ENGLISH = "english"
OTHERS = "danish dutch finnish french german hungarian italian norwegian portuguese russian spanish swedish".split()
"""The other languages of which the engine knows the words that questions are made of."""
FEWEST = 3
"""So many words tell another language: some are also English words that mean something, such as `die`."""
SYNONYMS: Mapping[str, str] = {
    ENGLISH: """
        abort cancel stop interrupt, account profile login, alert notification notify warn, anonymize
        anonymise mask, api endpoint route, app application program, ask confirm prompt, async asynchronous
        background, authenticate authentication auth login logout logged signin sign, automatic automate
        automation schedule, backup dump snapshot, basket cart, begin start first, bill invoice receipt
        billing, bind listen attach, block lock deadlock, boot start launch, break broken crash fail,
        browser chrome firefox safari, build compile bundle pipeline, buy purchase checkout order, calculate
        compute sum count, cent penny rounding, certificate tls ssl https, chart graph plot diagram, check
        verify validate, choose select pick, clean cleanup tidy remove, client customer user visitor member
        people, clone copy duplicate, close shut exit quit, cluster kubernetes k8s, colour color, column
        field attribute, combine merge join, compress zip archive gzip, config configuration setting
        preference option, connect connection socket websocket, container docker image pod, convert
        transform migrate, crash exception fatal error, cron schedule nightly periodic, cursor stream,
        database db postgres mysql sqlite sql, decrease reduce shrink lower small, delay lag wait backoff,
        delete remove drop erase purge, dependency package library module import, deploy deployment release
        publish ship, device phone mobile smartphone android ios, dialog modal popup overlay window,
        directory folder, docs documentation readme manual, double duplicate twice repeat, download export,
        edit change modify update, email mail smtp message, encrypt encryption cipher, end finish final
        last, environment env staging, explain describe, extension plugin addon, fast speed quick slow
        performance optimize, find search query lookup, fix repair solve mend resolve, flaky unstable random
        intermittent, flicker blink flash, freeze hang stuck timeout, function method, git repository repo,
        grow increase rise raise large, hidden hide invisible cover behind, holiday vacation trip, host
        server backend, hotkey shortcut keyboard keybinding, idempotent duplicate twice, ci pipeline runner
        workflow, junk spam, key token, laptop notebook computer, layer index order, leak memory ram heap
        oom, library package dependency, limit throttle quota maximum, line row, link url, listener handler
        callback event, locale localize localization translate translation i18n, map marker, memory ram
        heap, menu sidebar navigation drawer, monitor dashboard, night nightly, page pagination paginate,
        parallel concurrent simultaneous split, pay payment billing charge, picture photo image thumbnail
        avatar icon, playbook ansible, portrait upright orientation, presentation slide talk, preview dry
        simulate, private privacy personal gdpr, production prod live, reconnect retry, regex regexp
        pattern, rename change, report summary statistics, restore recover, rotate turn orientation, schema
        table column, script tool, session login cookie, shipping postage delivery freight, site website
        page, special umlaut accent, spreadsheet excel csv xlsx, stop silent quit, store save persist
        remember keep, style css theme, switch toggle change, tax vat, test spec pytest unit, tooltip hint,
        twice double duplicate, upload attachment send, upgrade update, validate verify check, version
        release, video movie film, wake resume sleep, web http nginx, webhook event callback, window dialog,
        worker job task process
    """,
    "german": """
        absatz zeilenumbruch umbruch, abrechnen rechnen berechnen, anmelden login einloggen, bild foto
        grafik, datei ordner verzeichnis, datenbank database, doppelt zweimal mehrfach, drucken ausdruck,
        einstellung konfiguration, fehler absturz problem, filtern suchen finden, hochladen upload, kaufen
        bestellen warenkorb, kunde benutzer nutzer, langsam schnell geschwindigkeit, löschen entfernen, mail
        email nachricht, passwort kennwort, rechnung beleg, sicherung backup, sonderzeichen umlaut,
        speichern sichern, tabelle excel csv, teil teilwort, übersetzung übersetzen, verschlüsseln
        verschlüsselung
    """,
}
"""Words that people use for the same thing when they talk of programs, with commas between the groups, by language."""
GRAMMAR = re.compile(
    r"怎么样?|怎样|为什么|为何|哪次|哪里|哪个|哪些|什么|如何|上次|这么|那么|时候|因为|所以|是不是|问题|[的了吗呢吧么是在把被和与]"
    r"|어디에?서?|어떻게|어떤|언제|무엇|무슨|문제|때문|그때|[을를은는]"
    r"|いつ|どこ|どの|どれ|なぜ|どう|問題|[\u3041-\u3096]+"
)
"""What sentences of Chinese, Korean and Japanese are made of, beside the words that mean something."""
_LETTERS = re.compile(r"[^\W\d_]+")


def question_words(text: str) -> tuple[str, frozenset[str]]:
    """Return the language of a question, and the words that questions of this language are made of.

    It is English, whose words are those of `QUESTION_WORDS`, unless more of its words, and not few, are of another.
    """
    said = _LETTERS.findall(text.lower())
    found = {ENGLISH: [word for word in said if word in QUESTION_WORDS]}
    if tantivy is not None:
        found |= {language: [word for word in said if not _stopper(language).analyze(word)] for language in OTHERS}
    language = max(found, key=lambda one: len(found[one]))
    language = language if len(found[language]) >= FEWEST else ENGLISH
    return language, frozenset(part for word in found[language] for part in words(word))


@lru_cache(1 << 15)
def stem(word: str, language: str) -> str:
    """Return what forms of a word have in common; the word itself if the engine is missing."""
    return "".join(_stemmer(language).analyze(word)) if tantivy is not None else word


def synonyms(word: str, language: str) -> list[str]:
    """Return what people also call the thing that a word means."""
    groups = _synonyms(language).get(stem(word, language)) or _synonyms(ENGLISH).get(stem(word, ENGLISH), [])
    return list(dict.fromkeys(groups))


@cache
def _synonyms(language: str) -> dict[str, list[str]]:
    """Return for the stem of each word in the table the words of its lines, as the index writes them."""
    found: dict[str, list[str]] = {}
    for line in SYNONYMS.get(language, "").split(","):
        group = words(line)
        for word in group:
            found.setdefault(stem(word, language), []).extend(other for other in group if other != word)
    return found


@cache
def _stopper(language: str) -> Any:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.stopword(language)).build()


@cache
def _stemmer(language: str) -> Any:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.stemmer(language)).build()
