"""Detection of other protocols, and rate limit of its log."""

import pytest

from mqgateway.gateway.remoting.foreign import (
    KINDS_MAX,
    SILENCE_SECONDS,
    SPEAKS_GRPC,
    SPEAKS_HTTP,
    SPEAKS_TLS,
    Notices,
    language,
)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", SPEAKS_GRPC),
        (b"PRI *", SPEAKS_GRPC),
        (b"GET / HTTP/1.1\r\n", SPEAKS_HTTP),
        (b"POST /topics HTTP/1.1\r\n", SPEAKS_HTTP),
        (b"\x16\x03\x01\x02\x00\x01", SPEAKS_TLS),
        (b"\x7f\xff\xff\xff", None),
        (b"\x16", None),
        (b"", None),
    ],
)
def test_language_of_first_bytes(first: bytes, said: str | None) -> None:
    assert language(first) == said


def test_repeated_notice_is_rate_limited_with_count() -> None:
    notices = Notices()
    assert [notices.say("a", now) for now in (0.0, 1.0, 2.0)] == [0, None, None]
    assert notices.say("b", 2.0) == 0
    assert notices.say("a", SILENCE_SECONDS) == 2
    assert notices.say("a", 2 * SILENCE_SECONDS) == 0


def test_number_of_kinds_is_bounded() -> None:
    notices = Notices()
    for kind in range(10 * KINDS_MAX):
        notices.say(str(kind), 0.0)
    assert notices.size <= KINDS_MAX
