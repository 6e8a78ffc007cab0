"""Checks of text settings: addresses, hours, names, delays, choices.

Each raises `BadValue` for an invalid text, with a valid suggestion.
"""

import re
from collections.abc import Callable

from mqgateway.engine.options.option import BadValue, closest

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = re.compile(r"(?!-)[A-Za-z0-9._-]{1,253}")
_DELAY = re.compile(r"[0-9]+[smhd]")
_HOURS_A_DAY = 24


def host(text: str) -> None:
    """Accept the name or address of a host without a port, or an empty text for the default."""
    bare = _SCHEME.sub("", text)
    if not text or _HOST.fullmatch(text) or _is_ipv6(text):
        return
    right = bare.partition("/")[0].rpartition(":")[0] or bare
    what = "not a host name or address without a port"
    raise BadValue(what, right if _HOST.fullmatch(right) else "10.0.0.1")


def address(port: int) -> Callable[[str], None]:
    """Return a check that accepts one HOST:PORT or an empty text; `port` is for suggestions."""

    def check(text: str) -> None:
        if text:
            _check_address(text, port)

    return check


def address_or(port: int, word: str) -> Callable[[str], None]:
    """Return a check that accepts what `address` does, and a word."""

    def check(text: str) -> None:
        if text and text != word:
            _check_address(text, port)

    return check


def addresses(port: int) -> Callable[[str], None]:
    """Return a check that accepts HOST:PORT, several separated by semicolons, or an empty text."""

    def check(text: str) -> None:
        if "," in text and ";" not in text:
            raise BadValue("addresses must be separated by semicolons", ";".join(re.split(r" *, *", text)))
        for part in filter(None, (part.strip() for part in text.split(";"))):
            _check_address(part, port)

    return check


def url(*schemes: str) -> Callable[[str], None]:
    """Return a check that accepts a URL with one of the schemes, or an empty text."""

    def check(text: str) -> None:
        scheme, colon, rest = text.partition(":")
        if text and not (colon and scheme in schemes and rest.strip("/") and not re.search(r"\s", rest)):
            right = f"{schemes[0]}://example.com/keys"
            raise BadValue(f"not a URL with {', '.join(schemes)}", right)

    return check


def hours(text: str) -> None:
    """Accept hours of the day, several separated by semicolons."""
    words = text.replace(" ", "").rstrip(";").split(";")
    if not all(word.isascii() and word.isdigit() and int(word) < _HOURS_A_DAY for word in words):
        raise BadValue("not hours of the day (00 to 23) separated by semicolons", "04")


def name(text: str) -> None:
    """Accept a name that topics are named after, or an empty text for the default."""
    if not text.isprintable() or re.search(r"[\s/\\]", text):
        raise BadValue("a name must not contain blanks or slashes", re.sub(r"[^\w.%|-]+", "-", text))


def distinct_names(text: str) -> None:
    """Accept different names, separated by commas, or an empty text."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    for word in words:
        name(word)
    if "" in words or len(set(words)) < len(words):
        right = ",".join(dict.fromkeys(filter(None, words)))
        raise BadValue("a name is empty or occurs twice", right)


def delays(text: str) -> None:
    """Accept delays by level, separated by blanks."""
    words = text.split()
    if not words:
        raise BadValue("contains no delays", "1s 5s 10s")
    wrong = next((word for word in words if not _DELAY.fullmatch(word)), "")
    if wrong:
        raise BadValue(f"{wrong} is not a number followed by s, m, h or d", "1s 5s 10s")


def one_of(*choices: str) -> Callable[[str], None]:
    """Return a check that accepts one of `choices`."""

    def check(text: str) -> None:
        if text not in choices:
            raise BadValue(f"not one of {', '.join(filter(None, choices))}", closest(text, list(choices)))

    return check


def several_of(*choices: str) -> Callable[[str], None]:
    """Return a check that accepts some of `choices`, separated by commas."""

    def check(text: str) -> None:
        words = [word.strip() for word in text.split(",")]
        wrong = next((word for word in words if word not in choices), None)
        if wrong is not None:
            right = filter(None, (closest(word, list(choices)) for word in words))
            what = f"{wrong or 'an empty name'} is not one of {', '.join(choices)}"
            raise BadValue(what, ",".join(right) or choices[0])

    return check


def _check_address(text: str, usual_port: int) -> None:
    if _is_address(text):
        return
    right = _SCHEME.sub("", text).partition("/")[0]
    if not _is_address(right):
        host_part = right.partition(":")[0]
        right = f"{host_part if _HOST.fullmatch(host_part) else '10.0.0.1'}:{usual_port}"
    raise BadValue(f"{text} is not HOST:PORT", right)


def _is_address(text: str) -> bool:
    found, _, port = text.rpartition(":")
    is_host = bool(_HOST.fullmatch(found)) or (
        found[:1] == "[" and found[-1:] == "]" and _is_ipv6(found[1:-1])
    )
    return is_host and port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536


def _is_ipv6(text: str) -> bool:
    if ":" not in text:
        return False
    from ipaddress import IPv6Address  # slow to load, and such addresses are rare

    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True
