"""A master's side of a connection, as in `DefaultHAConnection`."""

import pytest

from mqgateway.engine.ha.feed import Feed, OutgoingTransfer
from mqgateway.engine.ha.frames import StreamBroken, encode_report
from tests.support.engine.ha.logs import Ends, options


def fed(log: Ends, report: int, **changes: object) -> Feed:
    feed = Feed(options(**changes), log, "10.0.0.2:5000", 0)
    feed.receive(encode_report(report), 0)
    return feed


def taken(feed: Feed, now: int = 0) -> list[OutgoingTransfer]:
    """Return everything to send now."""
    found = []
    while (outgoing := feed.take(now)) is not None and outgoing.size:
        found.append(outgoing)
    return found


def test_nothing_is_sent_before_the_first_report() -> None:
    """Not even a keep-alive."""
    feed = Feed(options(), Ends(500), "10.0.0.2:5000", 0)
    assert feed.take(60_000) is None


def test_slave_continues_where_its_log_ends() -> None:
    assert taken(fed(Ends(500), 200)) == [OutgoingTransfer(200, 300)]


def test_slave_whose_log_ends_where_the_masters_begins_gets_all_of_it() -> None:
    assert taken(fed(Ends(500, min_offset=100), 100)) == [OutgoingTransfer(100, 400)]


def test_a_new_slave_gets_the_newest_file() -> None:
    assert taken(fed(Ends(2300), 0)) == [OutgoingTransfer(2000, 300)]


def test_a_new_slave_gets_the_whole_log_if_so_configured() -> None:
    """In chunks: none crosses the border of a file."""
    found = taken(fed(Ends(2300), 0, ha_copy_whole_log=True))
    assert found == [OutgoingTransfer(0, 1000), OutgoingTransfer(1000, 1000), OutgoingTransfer(2000, 300)]


def test_a_log_that_ends_with_a_file_gives_a_new_slave_nothing_old() -> None:
    feed = fed(Ends(2000), 0)
    assert feed.take(0) is None
    assert feed.next_offset == 2000


def test_chunks_are_no_larger_than_the_batch() -> None:
    assert taken(fed(Ends(500), 1, ha_transfer_batch_size=200))[0] == OutgoingTransfer(1, 200)


def test_flow_control_bounds_what_goes_in_a_second() -> None:
    feed = fed(Ends(900), 1, ha_flow_control_enable=True, max_ha_transfer_byte_in_second=300)
    assert sum(one.size for one in taken(feed)) == 300
    assert taken(feed, 999) == []
    assert taken(feed, 1000) == [OutgoingTransfer(301, 300)]


def test_silence_is_broken_by_keep_alives() -> None:
    feed = fed(Ends(500), 500)
    assert feed.take(5000) is None
    assert feed.take(5001) == OutgoingTransfer(500, 0)
    assert feed.take(5002) is None


def test_returned_transfer_is_taken_again() -> None:
    feed = fed(Ends(500), 200)
    outgoing = feed.take(0)
    assert outgoing is not None
    feed.give_back(outgoing)
    assert feed.take(0) == outgoing


def test_reports_acknowledge_and_never_take_back() -> None:
    feed = fed(Ends(500), 200)
    taken(feed)
    assert feed.receive(encode_report(400), 1)
    assert not feed.receive(encode_report(300), 2)
    assert not feed.receive(encode_report(400)[:4], 2)
    assert feed.ack_offset == 400


@pytest.mark.parametrize(
    ("report", "why"), [(501, "it has entries that this master"), (99, "is deleted"), (-3, "not an offset")]
)
def test_a_slave_whose_log_is_another_is_refused(report: int, why: str) -> None:
    with pytest.raises(StreamBroken, match=why):
        fed(Ends(500, min_offset=100), report)


def test_a_slave_cannot_acknowledge_what_it_was_not_sent() -> None:
    feed = fed(Ends(500), 200)
    with pytest.raises(StreamBroken, match="was only sent"):
        feed.receive(encode_report(201), 1)


def test_a_silent_slave_is_given_up() -> None:
    feed = fed(Ends(500), 500)
    assert not feed.is_expired(20_000)
    assert feed.is_expired(20_001)


def test_in_sync_is_who_lacks_less_than_the_gap() -> None:
    log = Ends(500)
    feed = fed(log, 500, ha_max_gap_not_in_sync=100)
    log.position = 599
    assert feed.is_in_sync()
    log.position = 600
    assert not feed.is_in_sync()


def test_a_slave_that_is_always_a_little_behind_keeps_up() -> None:
    """Under load there is always something newer than its last acknowledgement."""
    log = Ends(500)
    feed = fed(log, 500)
    for now in range(0, 60_000, 1000):
        log.position += 50
        taken(feed, now)
        log.position += 50
        feed.receive(encode_report(log.position - 50), now)
        assert now - feed.caught_up <= 2000
    feed.receive(encode_report(log.position - 50), 90_000)
    assert feed.caught_up <= 60_000


def test_slave_without_report_is_not_in_sync() -> None:
    assert not Feed(options(), Ends(0), "10.0.0.2:5000", 0).is_in_sync()
