"""Card and phone numbers among the many numbers of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final


def _first(character: str) -> str:
    """A number's first character, where no word and no decimal number goes on. See :mod:`.private` for the order."""
    return rf"{character}(?:(?<![\w.]{character})|(?<=\\[nrt]{character}))"


_GAP: Final = r"[ \u00a0.\u2010-\u2013-]"
_CARD: Final = re.compile(
    _first("[2-6]")
    + rf"(?:[0-9]{{3}}(?P<gap>{_GAP}?)[0-9]{{4}}(?P=gap)[0-9]{{4}}(?P=gap)[0-9]{{1,7}}(?:(?P=gap)[0-9]{{1,3}})?"
    + rf"|[0-9]{{3}}(?P<gap2>{_GAP})[0-9]{{6}}(?P=gap2)[0-9]{{4,5}})"
    + r"(?![0-9A-Za-z_]|\.[0-9])"
)
# The issuers' ranges and lengths: of all numbers one in ten has the right check digit.
_ISSUED: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3}){0,2}"  # Visa
    r"|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"  # Mastercard
    r"|3[47][0-9]{13}|3(?:0[0-5]|[689][0-9])[0-9]{11}"  # American Express, Diners
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2}|62[0-9]{2}|35[2-8][0-9])[0-9]{12,15}"  # Discover, UnionPay, JCB
    r"|(?:50|5[6-9]|63|67)[0-9]{14}(?:[0-9]{2,3})?"  # Maestro
)
_FEWEST: Final = 8
_OTHERS: Final = bytes(code for code in range(128) if not chr(code).isdigit())
_DOUBLED: Final = bytes.maketrans(b"0123456789", b"0246813579")

_WORLD: Final = re.compile(_first(r"\+") + r"[1-9](?:[ \u00a0().\-/\u2010-\u2013]{0,2}[0-9]){7,14}(?![0-9])")
_AMERICA: Final = re.compile(
    _first("[(1-9]") + r"(?:(?<=\()[2-9][0-9]{2}\)[ .-]?|(?<=[2-9])[0-9]{2}[ .-]|(?<=1)[ .-]\(?[2-9][0-9]{2}\)?[ .-])"
    r"[0-9]{3}[ .-][0-9]{4}(?![\w-]|\.[0-9])"
)
_NATIONAL: Final = re.compile(_first("0") + r"[1-9](?:[ /.-]?[0-9]){8,9}(?![\w/:-]|[ .][0-9])")
_DATED: Final = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}|[0-9]{2}([./-])[0-9]{4}\b|[0-9]+\.[0-9]+\Z")
_DECIMAL: Final = re.compile(r"\+[0-9]+\.[0-9]+\Z")


def enough(text: str, start: int, seen: int) -> bool:
    """Whether there are as many digits as a number has, wherever they stand."""
    piece = text[start:seen]
    return not piece.isascii() or len(piece.encode().translate(None, _OTHERS)) >= _FEWEST


def cards(text: str, start: int, stop: int, seen: int) -> Iterator[tuple[int, int]]:
    """Card numbers with a right check digit, of 13 to 19 digits, in groups or in one."""
    for match in _CARD.finditer(text, start, seen):
        if match.start() >= stop:
            return
        gap = match["gap"] or match["gap2"]
        number = match[0].replace(gap, "") if gap else match[0]
        if _ISSUED.fullmatch(number) and _check_digit_is_right(number):
            yield match.span()


def phones(text: str, start: int, stop: int, seen: int) -> Iterator[tuple[int, int]]:
    """Numbers that are written as one dials them: with a country's code, in America's groups, or from a 0 on."""
    if text.find("+", start, stop) >= 0:
        for match in _WORLD.finditer(text, start, seen):
            if match.start() < stop and not _DECIMAL.match(match[0]):
                yield match.span()
    for match in _AMERICA.finditer(text, start, seen):
        if match.start() < stop:
            yield match.span()
    for match in _NATIONAL.finditer(text, start, seen):
        if match.start() < stop and not match[0].isdigit() and not _DATED.match(match[0]):
            yield match.span()


def only_digits(text: str) -> str:
    """The number without what stands between its groups."""
    return "".join(filter(str.isdigit, text))


def _check_digit_is_right(number: str) -> bool:
    """Luhn's rule: every second digit from the right doubled, the sum a multiple of ten."""
    digits = number.encode()
    return (sum(digits[-1::-2]) + sum(digits[-2::-2].translate(_DOUBLED)) - 48 * len(digits)) % 10 == 0
