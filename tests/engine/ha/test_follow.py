"""A slave's side of a connection, as in `DefaultHAClient`."""

import pytest

from mqgateway.engine.ha.follow import Follow
from mqgateway.engine.ha.frames import StreamBroken, encode_header, encode_report
from tests.support.engine.ha.logs import options


class Tape:
    """A log of bytes that begins at `start`."""

    def __init__(self, data: bytes = b"", start: int = 0) -> None:
        self.data = data
        self.start = start

    @property
    def position(self) -> int:
        return self.start + len(self.data)

    def append(self, offset: int, data: bytes) -> None:
        if not self.data:
            self.start = offset
        assert offset == self.position
        self.data += data


def transfer(offset: int, body: bytes) -> bytes:
    return encode_header(offset, len(body)) + body


def test_the_first_report_says_where_the_log_ends() -> None:
    follow = Follow(options(), Tape(b"abc"), 0)
    assert follow.report(3, 0) == encode_report(3)
    assert follow.report(3, 1) == b""


def test_the_first_report_waits_until_all_of_it_is_safe() -> None:
    """The master starts there, whatever is reported later."""
    follow = Follow(options(), Tape(b"abc"), 0)
    assert follow.report(2, 0) == b""
    assert follow.report(3, 0) == encode_report(3)


def test_new_acknowledgement_is_reported_at_once() -> None:
    tape = Tape(b"abc")
    follow = Follow(options(), tape, 0)
    follow.report(3, 0)
    assert follow.receive(transfer(3, b"de") + transfer(5, b"f")[:5], 1) == 2
    assert follow.report(tape.position, 1) == encode_report(5)


def test_only_what_is_safe_is_acknowledged() -> None:
    """With SYNC_FLUSH written bytes are not safe before they are flushed."""
    follow = Follow(options(), Tape(b"abc"), 0)
    follow.report(3, 0)
    follow.receive(transfer(3, b"de"), 1)
    assert follow.report(3, 1) == b""
    assert follow.report(5, 2) == encode_report(5)


def test_silence_is_broken_by_reports() -> None:
    follow = Follow(options(), Tape(b"abc"), 0)
    follow.report(3, 0)
    assert follow.report(3, 5000) == b""
    assert follow.report(3, 5001) == encode_report(3)


def test_an_empty_log_begins_where_the_master_says() -> None:
    tape = Tape()
    follow = Follow(options(), tape, 0)
    assert follow.report(0, 0) == encode_report(0)
    follow.receive(transfer(2000, b"xy"), 1)
    assert (tape.start, tape.position) == (2000, 2002)


@pytest.mark.parametrize("offset", [2, 4])
def test_transfer_that_does_not_continue_log_is_refused(offset: int) -> None:
    follow = Follow(options(), Tape(b"abc"), 0)
    with pytest.raises(StreamBroken, match=f"data at {offset}; our log ends at 3"):
        follow.receive(transfer(offset, b"x"), 1)


def test_a_keep_alive_from_elsewhere_is_refused_too() -> None:
    follow = Follow(options(), Tape(b"abc"), 0)
    follow.receive(transfer(3, b""), 1)
    with pytest.raises(StreamBroken):
        follow.receive(transfer(9, b""), 1)


def test_the_whole_log_is_asked_for_from_byte_1_on() -> None:
    """A request for byte 0 means the newest file; the byte itself is known."""
    tape = Tape()
    follow = Follow(options(), tape, 0, begin=1)
    assert follow.report(0, 0) == encode_report(1)
    assert follow.receive(transfer(1, b"\1\2"), 1) == 3
    assert tape.data == b"\0\1\2"
    assert follow.report(3, 1) == encode_report(3)


def test_a_silent_master_is_given_up() -> None:
    follow = Follow(options(), Tape(), 0)
    follow.receive(transfer(0, b""), 10)
    assert not follow.is_expired(20_010)
    assert follow.is_expired(20_011)
