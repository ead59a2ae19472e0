"""What is secret because its name says so: ``password=…``, ``"api_key": "…"``, ``Authorization: Bearer …``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["secret", "email", "card", "phone"]
"""What a placeholder says of what it stands for."""

WITHHELD: Final = "<withheld>"
PLACEHOLDER: Final = re.compile(r"<(?:secret|email|card|phone)-[0-9]{1,9}>|<withheld>")

_TELLING: Final = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token(?!s|iz|[_-]?(?:type|count|limit|usage|budget))"
    r"|api[_ -]?key|access[_-]?key|account[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key"
    r"|credential|authorization|cookie|x-amz-signature|connection[_-]?string)"
)
_PHONES_NAME: Final = r"(?:phone|mobile|msisdn|whatsapp|telephone|tel|fax)(?:[_ -]?(?:number|no))?"
_IS: Final = r"[\"'\\`]{0,6}\s{0,4}(?::=|=>|[:=]|is\b|was\b)\s{0,4}"

# What follows the name's own letters is taken at once, and not letter by letter again from the end.
_REST: Final = r"(?:(?=(?P<rest>[\w-]{0,24}))(?P=rest)(?![\w-])|[\w-]{0,24}(?=(?:is|was)\b))"
_NAMED: Final = re.compile(_TELLING + _REST + _IS, re.ASCII)
_FLAG: Final = re.compile(r"--(?:password|passwd|token|secret|api-?key)\s{1,4}(?=[^\s-])")
_BEARER: Final = re.compile(r"bearer\s{1,4}(?=[\w.~+/=-]{8})", re.ASCII)
_SIGNED: Final = re.compile(r"[?&]sig=(?![\s,;]|&[\w.\[\]-]{1,40}=)")
_SECRET_KEY: Final = re.compile(_TELLING, re.ASCII)
_PHONE_KEY: Final = re.compile(rf"(?<![a-z]){_PHONES_NAME}\Z", re.ASCII)
_NAMED_PHONE: Final = re.compile(
    rf"(?<![a-z]){_PHONES_NAME}[\"'\\`]{{0,6}}\s{{0,4}}[:=]\s{{0,4}}[\"'\\`]{{0,6}}"
    r"(?P<number>[+(]?[0-9][0-9 ().-]{4,20}[0-9])(?![\w.]\w)",
    re.ASCII,
)

# What is looked for first, which costs next to nothing.
_SECRETS: Final = (
    (("pass", "pwd", "secret", "token", "key", "credential", "authorization", "cookie", "signature", "string"), _NAMED),
    (("--",), _FLAG),
    (("sig=",), _SIGNED),
    (("bearer",), _BEARER),
)
_PHONE_HINTS: Final = ("phone", "mobile", "msisdn", "whatsapp", "tel", "fax")

_SCHEME: Final = re.compile(r"(?:bearer|basic|token|digest|negotiate|apikey)\s{1,4}", re.IGNORECASE)
_SCHEMES: Final = frozenset({"be", "ba", "to", "di", "ne", "ap"})
"""What they begin with."""
_QUOTES: Final = frozenset("\\\"'`")
_QUOTE: Final = re.compile(r"\\{0,7}[\"'`]")
# Up to where a value without quotes goes: what separates fields ends it, and what closes a bracket at a word's end.
_BARE: Final = re.compile(
    r"(?:[^\s\"'`,;&<)}\]\\]|[)}\]](?=\w)|&(?![\w.\[\]-]{1,40}=)|\\(?![nrt\"'\\])|<(?!(?:secret|email|card|phone)-[0-9]|withheld>)){1,2048}"
)
_WORDS: Final = re.compile(r"(?:[a-z]+|[A-Z][a-z]*|[A-Z]{2,})[.!?:]{0,3} [^\s;,}\\]")
_LINE: Final = re.compile(r"[^\r\n\"'`]{1,4096}")
_NOTHING: Final = re.compile(
    r"(?:true|false|null|none|nil|undefined|required|optional|yes|no|redacted|hidden|masked|[*•x.]+"
    r"|[\[<(]?(?:redacted|filtered|hidden|masked|removed)[\])>]?|<withheld>)\Z",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"[ \t]{0,8}(?:[\r\n;,}]|\\[nr]|\Z)")
_LONGEST: Final = 4_096
_LONGEST_KNOWN: Final = 40
"""Characters of a name up to which it is remembered what it tells: fields have the same names in run after run."""


def values(text: str, start: int, stop: int, seen: int) -> Iterator[tuple[int, int, Kind]]:
    """Where the values of telling names stand, that begin in ``text[start:stop]``; quotes and schemes stay."""
    low = _lowered(text[start:seen])
    for hints, pattern in _SECRETS:
        if _any_in(low, hints):
            yield from _secrets(pattern, text, low, start, stop)
    if _any_in(low, _PHONE_HINTS):
        for match in _NAMED_PHONE.finditer(low):
            if start + match.start() < stop:
                yield start + match.start("number"), start + match.end("number"), "phone"


def _any_in(low: str, hints: tuple[str, ...]) -> bool:
    for hint in hints:  # noqa: SIM110 - a generator takes longer than what it looks for
        if hint in low:
            return True
    return False


def _lowered(text: str) -> str:
    """In lower case, and as long: a letter that is two in lower case would move all that follows."""
    low = text.lower()
    if len(low) == len(text):
        return low
    low = text.replace("\u0130", "\u0131").lower()  # the only such letter so far, by its neighbour
    return low if len(low) == len(text) else "".join(one if len(one.lower()) != 1 else one.lower() for one in text)


def _secrets(pattern: re.Pattern[str], text: str, low: str, start: int, stop: int) -> Iterator[tuple[int, int, Kind]]:
    """A name inside a value that was found is a part of it."""
    done = 0
    for match in pattern.finditer(low):
        at = start + match.start()
        if at >= stop:
            return
        span = _value(text, start + match.end(), match[0], start + len(low)) if at >= done else None
        if span is not None:
            done = span[1]
            yield *span, "secret"


def kind_of_field(name: str) -> Kind | None:
    """What a field of this name holds, where the name tells."""
    return _known_kind(name) if len(name) <= _LONGEST_KNOWN else _kind_of_field(name)


def _kind_of_field(name: str) -> Kind | None:
    low = name.lower()
    if _SECRET_KEY.search(low) is not None:
        return "secret"
    return "phone" if _PHONE_KEY.search(low) is not None else None


_known_kind = lru_cache(maxsize=1024)(_kind_of_field)


def whole_value(text: str) -> tuple[int, int] | None:
    """The secret part of a secret field's whole value."""
    scheme = _SCHEME.match(text)
    start = scheme.end() if scheme else 0
    return None if _is_nothing(text[start:]) else (start, len(text))


def _value(text: str, at: int, name: str, seen: int) -> tuple[int, int] | None:
    begins = text[at : at + 2]
    quote = _QUOTE.match(text, at) if begins[:1] in _QUOTES else None
    if quote is not None:
        return _quoted(text, quote)
    scheme = _SCHEME.match(text, at) if begins.lower() in _SCHEMES else None
    at = scheme.end() if scheme else at
    cookie = "cookie" in name and (name.startswith("cookie") or "-cookie" in name)
    if scheme is None and not cookie and _is_prose(text, at, name):
        return None
    match = _LINE.match(text, at, seen) if cookie else _BARE.match(text, at, seen)
    if match is None or not (scheme or _looks_secret(text, match, name)) or _is_nothing(match[0]):
        return None
    return match.span()


def _quoted(text: str, quote: re.Match[str]) -> tuple[int, int] | None:
    """Up to the same quote, escaped as often: the text may be JSON in JSON. Without an end: the line."""
    begin, mark = quote.end(), quote[0]
    limit = min(begin + _LONGEST, len(text))
    end = text.find(mark, begin, limit)
    while end > 0 and text[end - 1] == "\\" and len(mark) == 1 and _escaped(text, begin, end):
        end = text.find(mark, end + 1, limit)
    if end < 0:
        line = _LINE.match(text, begin)
        end = line.end() if line else begin
    scheme = _SCHEME.match(text, begin, end)
    begin = scheme.end() if scheme else begin
    return None if _is_nothing(text[begin:end]) else (begin, end)


def _escaped(text: str, begin: int, end: int) -> bool:
    before = text[max(begin, end - 64) : end]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _is_nothing(value: str) -> bool:
    return not value.strip() or _NOTHING.match(value) is not None or PLACEHOLDER.fullmatch(value) is not None


def _is_prose(text: str, at: int, name: str) -> bool:
    """A plain word, and more after it: what :func:`_looks_secret` says of it too, known at a glance."""
    return _WORDS.match(text, at) is not None and not name.rstrip().endswith("=") and not name.startswith("--")


def _looks_secret(text: str, match: re.Match[str], name: str) -> bool:
    """Prose says "the password: must be long": a plain word is a secret only after ``=`` or where it ends the line."""
    value, name = match[0].rstrip(".!?:"), name.rstrip()
    if name.endswith("=") or name.startswith("--"):
        return True
    word = value.isalpha()
    if not word and any(map(str.isdigit, value)):
        return True
    if name.endswith(("is", "was")):
        return False
    odd = not word or not (value.islower() or value.istitle() or value.isupper())
    return odd or (name.endswith(":") and _ENDS.match(text, match.end()) is not None)
