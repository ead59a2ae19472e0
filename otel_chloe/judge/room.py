"""How much room a text takes in a model's context, and how the room is shared out."""

from __future__ import annotations

from collections.abc import Sequence


def cost(text: str) -> int:
    """Tokens that a text takes at most, as a rule: one for three ASCII characters, and one for two bytes of others.

    English has four to five characters a token, JSON and code about three; Cyrillic or Greek about two, a Chinese
    character is one or two tokens, an emoji two or three. Only dense text (base64, hex) takes more than this says.
    """
    if text.isascii():
        return (len(text) + 2) // 3
    ascii_only = len(text.encode("ascii", "ignore"))
    rest = len(text.encode("utf-8", "surrogatepass")) - ascii_only
    return (ascii_only + 2) // 3 + (rest + 1) // 2


def cost_at_least(text: str, most: int) -> int:
    """The same, but of a text that is certainly longer than ``most`` tokens only that it is: it is not read."""
    least = (len(text) + 2) // 3
    return least if least > most else cost(text)


def starts(text: str, tokens: int) -> int:
    """How many characters from the start fit in ``tokens``."""
    end = min(len(text), 3 * max(tokens, 0))
    while end and (taken := cost(text[:end])) > tokens:
        end = min(end - 1, end * tokens // taken)
    return end


def ends(text: str, tokens: int) -> int:
    """Where the end that fits in ``tokens`` starts."""
    length = min(len(text), 3 * max(tokens, 0))
    while length and (taken := cost(text[len(text) - length :])) > tokens:
        length = min(length - 1, length * tokens // taken)
    return len(text) - length


def level(wanted: Sequence[tuple[int, int]], tokens: int) -> int:
    """The most that each may have for one weight, so that all fit: ``wanted`` holds tokens and weight.

    Who wants less than its share leaves the rest to the others; what nobody wants is there for what grows.
    """
    weights = sum(weight for _, weight in wanted)
    for want, weight in sorted(wanted, key=lambda one: one[0] / one[1]):
        if want * weights <= tokens * weight:
            tokens -= want
            weights -= weight
        else:
            return max(tokens, 0) // weights
    return max((want for want, _ in wanted), default=0) + max(tokens, 0) // max(1, len(wanted))
