"""Texts with secrets made by chance, and texts of numbers and names that are none. All are invented."""

from __future__ import annotations

from hypothesis import strategies as st

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"


def chars(alphabet: str, least: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most or least)


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def checked(number: str) -> str:
    """The number with its check digit."""
    total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(reversed(number)))
    return number + str(-total % 10)


def grouped(number: str, gap: str) -> str:
    return gap.join(number[at : at + 4] for at in range(0, len(number), 4))


HEX = "0123456789abcdef"
WORDLY = LETTERS + DIGITS
KEYS = st.one_of(
    joined("sk-proj-", chars(WORDLY + "_-", 30, 60), "9X"),
    joined("sk-ant-api03-", chars(WORDLY + "_-", 40, 90), "AA7"),
    joined("AKIA", chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    joined(st.sampled_from(["ghp_", "gho_", "ghs_"]), chars(WORDLY, 36)),
    joined("github_pat_", chars(WORDLY, 22), "_", chars(WORDLY, 40)),
    joined("xoxb-", chars(DIGITS, 12), "-", chars(WORDLY, 24)),
    joined("AIza", chars(WORDLY + "_-", 35)),
    joined(st.sampled_from(["sk_live_", "rk_test_"]), chars(WORDLY, 24)),
    joined("eyJ", chars(WORDLY, 20, 40), ".eyJ", chars(WORDLY, 20, 900), ".", chars(WORDLY + "_-", 43)),
    joined("hf_", chars(WORDLY, 34)),
)
PASSWORDS = chars(WORDLY + "!#%_-+/=", 7, 20).map(lambda text: f"Q{text}7")
CARDS = st.one_of(
    joined(st.sampled_from(["4", "51", "2221", "6011"]), chars(DIGITS, 15)).map(lambda text: checked(text[:15])),
    joined("37", chars(DIGITS, 12)).map(checked),
)
EMAILS = joined(chars(WORDLY, 1, 12), ".", chars(WORDLY, 1, 9), "@", chars(LETTERS + DIGITS, 2, 12), ".example")
PHONES = st.one_of(
    joined("+", st.sampled_from(["1", "44", "49", "353"]), chars("23456789", 9)),
    joined("(", chars("23456789", 3), ") ", chars("23456789", 3), "-", chars("23456789", 4)),
    joined(chars("23456789", 3), "-", chars("23456789", 3), "-", chars("23456789", 4)),
)


@st.composite
def private_keys(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]))
    lines = draw(st.lists(chars(WORDLY + "+/", 64), min_size=1, max_size=30))
    return "\n".join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, "QUJD==", f"-----END {kind}PRIVATE KEY-----"])


SECRETS = st.one_of(KEYS, CARDS, EMAILS, PHONES)
"""Each is found wherever it stands as a word of its own."""

NAMED = st.sampled_from(
    ["password={}", 'password: "{}"', '"api_key": "{}"', "OPENAI_API_KEY={}", "client_secret = '{}'", "--password {}"]
)
"""Where a password may stand."""

NO_SECRETS = [
    "550e8400-e29b-41d4-a716-446655440000",
    "12345678-4111-1111-1111-111111111111",
    "4bf92f3577b34da6a3ce929d0e0e4736",
    "00f067aa0ba902b7",
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    "commit 61af203, 786b155 and d3c4727",
    "2024-01-15T10:30:00.123456Z",
    "2026-11-30 21:24:37",
    "01/02/2024 10:30, 01-02-2024 1234 and 01.02.2024",
    "20241115103000",
    "1796000000",
    "1796000000123",
    "1796000000123456789",
    "0.4111111111111111",
    "3.14159265358979 and -0.5 and +2.718281828459045",
    "1,234,567,890 or 12 345 678",
    "0123456789 and 1234567890",
    "4111111111111112",
    "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
    "00 01 02 03 04 05 06 07 08 09 0a",
    "https://example.com/a/b?x=1&y=2#z",
    "http://localhost:8080/v1/items/550e8400?page=2",
    "git@github.com:example/shop.git",
    "lodash@4.17.21, @scope/pkg@1.0.0 and icon@2x.png",
    "@app.route('/x') and @property.setter",
    "192.168.100.200 and 10.0.0.1:8080 and fe80::1",
    "v1.2.3-beta.4",
    "978-3-16-148410-0",
    '{"input_tokens": 812, "total_tokens": 1003, "max_tokens": 8000}',
    "token_type: bearer, token_count=3",
    "Bearer authentication is used, with a bearer token",
    "The password: must be long. The secret: he likes cats.",
    "the password is required",
    "sk-folding-cube-spinner-large",
    "task-abcdefghijklmnopqrstuvwxyz1234, disk-0123456789abcdef0123",
    "primary_key=id, foreign key: user_id, keyword: shop",
    "-----BEGIN PUBLIC KEY-----",
    "eyJhIjoxfQ",
    "<email-1> and <secret-12> and password=<secret-1> and <withheld>",
    "ghp_short sk-short AKIA AIza xox",
]
