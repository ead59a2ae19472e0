r"""Where secrets and personal data stand in a text: keys, tokens, passwords, card numbers, addresses, phone numbers.

Every pattern has one of two shapes, so that no text makes it slow: a literal beginning and then one class of
characters, with nothing behind it that could fail; or a length with a small bound. What such a pattern finds is weighed
in Python. A condition on the character before stands behind the first literal, for a pattern that begins with a
look-behind is tried at every place. ``\n`` and its like, as JSON writes them, end a word as the character itself does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from . import digits, named
from .named import Kind

Found: TypeAlias = "tuple[int, int, Kind]"
"""``text[start:end]`` is not to be shown, and what it is. A plain tuple: a text may be nothing but addresses."""

PIECE: Final = 32_768
"""Characters searched at once: between two pieces the interpreter may switch threads."""
OVERLAP: Final = 8_192
"""What a piece sees of the next one: nothing that is looked for is longer, but a private key, which has its own way."""
LONGEST: Final = 16_384

_SLUG: Final = re.compile(r"(?:[a-z]{1,15}-)+[a-z]{1,15}\Z")


def _no_slug(text: str) -> bool:
    """Words with hyphens between them (``sk-folding-cube-spinner``) are a name."""
    return _SLUG.match(text) is None


def _has_parts(text: str) -> bool:
    """A JSON web token has dots; base64 of any other JSON begins alike."""
    return 0 < text.find(".") < len(text) - 8


class _Shape(NamedTuple):
    """``hint`` is looked for first, which costs next to nothing; ``check`` weighs what ``pattern`` found."""

    hint: str
    pattern: re.Pattern[str]
    check: Callable[[str], bool] | None = None


def _shape(hint: str, rest: str, check: Callable[[str], bool] | None = None) -> _Shape:
    """Shapes that begin with a literal, as its own word."""
    literal = re.escape(hint)
    alone = rf"(?:(?<![A-Za-z0-9]{literal})|(?<=\\[nrt]{literal}))"
    return _Shape(hint, re.compile(literal + alone + rest, re.ASCII), check)


def _sign(hint: str) -> str:
    """A character in it that few texts are full of, if it has one."""
    return next((sign for sign in "-_." if sign in hint), "")


_SHAPES: Final = (
    _shape("sk-", r"[\w-]{16,}", _no_slug),  # OpenAI, Anthropic, OpenRouter, Langfuse, DeepSeek
    _shape("AKIA", r"[A-Z0-9]{16}(?![A-Z0-9])"),  # AWS
    _shape("ASIA", r"[A-Z0-9]{16}(?![A-Z0-9])"),
    _Shape("gh", re.compile(r"gh[opsur]_[A-Za-z0-9]{20,}")),  # GitHub
    _shape("github_pat_", r"\w{20,}"),
    _shape("glpat-", r"[\w-]{16,}"),  # GitLab
    _Shape("xox", re.compile(r"xox[abceoprs]-[\w-]{10,}", re.ASCII)),  # Slack
    _shape("xapp-", r"[\w-]{16,}"),
    _Shape("hooks.slack.com/services/", re.compile(r"(?<=hooks\.slack\.com/services/)[\w/]{16,}", re.ASCII)),
    _shape("AIza", r"[\w-]{30,}"),  # Google
    _shape("ya29.", r"[\w-]{16,}"),
    _shape("GOCSPX-", r"[\w-]{16,}"),
    _Shape("_live_", re.compile(r"[prs]k_live_\w{10,}", re.ASCII)),  # Stripe
    _Shape("_test_", re.compile(r"[prs]k_test_\w{10,}", re.ASCII)),
    _shape("whsec_", r"[\w+/=]{16,}"),
    _shape("eyJ", r"[\w.-]{20,}", _has_parts),  # JSON web tokens
    _shape("hf_", r"[A-Za-z0-9]{20,}"),  # Hugging Face
    _shape("gsk_", r"[A-Za-z0-9]{20,}"),  # Groq
    _shape("xai-", r"[A-Za-z0-9]{20,}"),
    _shape("pplx-", r"[A-Za-z0-9]{20,}"),
    _shape("tvly-", r"[\w-]{16,}"),
    _shape("lsv2_", r"\w{20,}"),  # LangSmith
    _shape("npm_", r"[A-Za-z0-9]{30,}"),
    _shape("pypi-", r"[\w-]{40,}"),
    _shape("SG.", r"[\w.-]{32,}"),  # SendGrid
    _shape("shpat_", r"[A-Za-z0-9]{20,}"),  # Shopify
    _shape("dop_v1_", r"[a-f0-9]{32,}"),  # DigitalOcean
    _shape("dapi", r"[a-f0-9]{32,}"),  # Databricks
)

_BY_SIGN: Final = {sign: tuple(shape for shape in _SHAPES if sign == _sign(shape.hint)) for sign in ("-", "_", ".", "")}
"""A single character is found, or not, in a tenth of the time that a word takes."""
_KEY_BEGINS: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BREAK: Final = r"(?:\s|\\{1,4}[nr]){0,8}"
_KEY_LINE: Final = rf"{_BREAK}(?:[A-Za-z]{{1,16}}(?:-[A-Za-z]{{1,16}})?: [^\n\\]{{1,100}}|[A-Za-z0-9+/]{{8,}}={{0,2}})"
_KEY_BODY: Final = re.compile(rf"(?:{_KEY_LINE}){{0,800}}")
_KEY_ENDS: Final = re.compile(rf"{_BREAK}[A-Za-z0-9+/=]{{0,80}}{_BREAK}-----END [A-Z0-9 ]{{1,60}}-----")

_LOGIN: Final = re.compile(r"://[^\s/:@\"'<>]{0,128}:(?P<password>[^\s/@\"'<>]{1,256})@")
_DOMAIN: Final = re.compile(r"@(?![1-4]x\.)(?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62}")
_LOCAL_BACKWARDS: Final = re.compile(r"[\w.!#$%&'*+=?^`{|}~-]{1,64}")


def found(text: str) -> Iterator[Found]:
    """Everything in ``text`` that is not to be shown, in order and without overlap."""
    begin, end = 0, -1
    kind: Kind = "secret"
    for start, stop, what in _in_order(text):
        if start >= end:
            if end >= 0:
                yield begin, end, kind
            begin, end, kind = start, stop, what
        else:
            kind = kind if end - begin >= stop - start else what
            end = max(end, stop)
    if end >= 0:
        yield begin, end, kind


def _in_order(text: str) -> Iterator[Found]:
    """All that any search finds. Sorted piece by piece: one long sort would keep other threads waiting."""
    if len(text) <= PIECE:
        yield from sorted(_search(text, 0, len(text), len(text)))
        return
    pieces: dict[int, list[Found]] = {}
    for start in range(0, len(text), PIECE):
        stop = min(start + PIECE, len(text))
        for one in _search(text, start, stop, min(stop + OVERLAP, len(text))):
            pieces.setdefault(one[0] // PIECE, []).append(one)
        yield from sorted(pieces.pop(start // PIECE - 1, ()))  # an address may begin in the piece before
    for piece in sorted(pieces):
        yield from sorted(pieces[piece])


def _search(text: str, start: int, stop: int, seen: int) -> list[Found]:
    """What begins in ``text[start:stop]``, and may go on up to ``seen``."""
    there: list[Found] = []
    _shapes(text, start, stop, seen, there)
    if text.find("-----BEGIN", start, seen) >= 0:
        there += _private_keys(text, start, stop, seen)
    if text.find("@", start, seen) >= 0:
        logins = list(_logins(text, start, stop, seen)) if text.find("://", start, seen) >= 0 else []
        there += logins
        _addresses(text, start, stop, seen, {end for _, end, _ in logins}, there)
    there += named.values(text, start, stop, seen)
    if digits.enough(text, start, seen):
        _numbers(text, start, stop, seen, there)
    return there


def _numbers(text: str, start: int, stop: int, seen: int, there: list[Found]) -> None:
    for begin, end in digits.cards(text, start, stop, seen):
        there.append((begin, end, "card"))
    for begin, end in digits.phones(text, start, stop, seen):
        there.append((begin, end, "phone"))


def _shapes(text: str, start: int, stop: int, seen: int, there: list[Found]) -> None:
    for sign, shapes in _BY_SIGN.items():
        if text.find(sign, start, seen) < 0:
            continue
        for shape in shapes:
            if text.find(shape.hint, start, seen) >= 0:
                _shaped(shape, text, start, stop, seen, there)


def _shaped(shape: _Shape, text: str, start: int, stop: int, seen: int, there: list[Found]) -> None:
    for match in shape.pattern.finditer(text, start, seen):
        if match.start() >= stop:
            return
        if shape.check is None or shape.check(match[0]):
            there.append((match.start(), match.end(), "secret"))


def _private_keys(text: str, start: int, stop: int, seen: int) -> Iterator[Found]:
    """A key whose end is missing reaches as far as its lines do: a marker alone hides nothing behind it."""
    for match in _KEY_BEGINS.finditer(text, start, seen):
        if match.start() >= stop:
            return
        end = match.end()
        limit = min(end + LONGEST, len(text))
        body = _KEY_BODY.match(text, end, limit)
        end = body.end() if body else end
        closed = _KEY_ENDS.match(text, end, limit)
        yield match.start(), closed.end() if closed else end, "secret"


def _logins(text: str, start: int, stop: int, seen: int) -> Iterator[Found]:
    """The password in ``scheme://user:password@host``."""
    for match in _LOGIN.finditer(text, start, seen):
        if match.start() < stop and not is_placeholder(match["password"]):
            yield (*match.span("password"), "secret")


def _addresses(text: str, start: int, stop: int, seen: int, logins: set[int], there: list[Found]) -> None:
    """The domain is looked for first, by its ``@``, and the name before it backwards from there."""
    for match in _DOMAIN.finditer(text, start, seen):
        at, end = match.span()
        if at >= stop:
            return
        if at == 0 or (logins and at in logins):
            continue
        name = _LOCAL_BACKWARDS.match(text[at - 1 : at - 65 if at > 64 else None : -1])
        if name is None:
            continue
        begin = at - name.end()
        if begin and text[begin - 1] == "\\" and text[begin] in "nrt":
            begin += 1
        if begin < at and not (at - begin == 3 and text.startswith("git", begin) and text.startswith(":", end)):
            there.append((begin, end, "email"))


def is_placeholder(text: str) -> bool:
    """Whether a redactor put it there: what was redacted once is not redacted again."""
    return named.PLACEHOLDER.match(text) is not None
