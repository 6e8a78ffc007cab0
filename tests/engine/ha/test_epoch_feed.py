"""A master's side of a connection under a controller, as in `AutoSwitchHAConnection`."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.epoch_feed import EpochFeed
from mqgateway.engine.ha.epoch_frames import Hello, encode_epoch_report, encode_epochs, encode_hello
from mqgateway.engine.ha.epochs import Epoch, Epochs
from mqgateway.engine.ha.frames import StreamBroken
from mqgateway.engine.ha.in_sync_set import InSyncSet
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.ha.logs import Ends, options


def feed_of(log: Ends, *entries: tuple[int, int], **changes: object) -> EpochFeed:
    epochs = Epochs(CrashDisk(), "/store/epochs")
    for number, start in entries:
        epochs.begin(number, start)
    return EpochFeed(options(**changes), log, "10.0.0.2:5000", 0, epochs, InSyncSet(1), lambda: 42)


def sent(feed: EpochFeed, now: int = 0) -> list[bytes]:
    """Return the headers of everything to send now."""
    found = []
    while (outgoing := feed.take(now)) is not None:
        found.append(feed.header(outgoing))
        if not outgoing.size:
            break
    return found


def test_slave_gets_the_epochs_and_then_the_log() -> None:
    feed = feed_of(Ends(500), (1, 0), (3, 300))
    assert sent(feed) == []
    assert not feed.receive(encode_hello(Hello(2)), 0)
    assert feed.replica_id == 2
    assert sent(feed) == [encode_epochs(500, [Epoch(1, 0), Epoch(3, 300)])]
    assert sent(feed, 60_000) == []
    assert feed.receive(encode_epoch_report(200), 0)
    headers = sent(feed)
    assert [header.hex() for header in headers] == [
        "000000020000006400000000000000c8000000010000000000000000000000000000002a",
        "00000002000000c8000000000000012c00000003000000000000012c000000000000002a",
    ]


def test_a_slave_that_has_everything_hears_of_the_epoch_at_once() -> None:
    feed = feed_of(Ends(500), (1, 0), (3, 500))
    feed.receive(encode_hello(Hello(2)) + encode_epoch_report(500), 0)
    sent(feed)
    (header,) = sent(feed)
    assert header.hex()[:48] == "000000020000000000000000000001f40000000300000000"
    assert sent(feed, 4000) == []
    assert len(sent(feed, 5001)) == 1


def test_a_slave_with_everything_hears_soon_how_far_that_is_confirmed() -> None:
    feed = feed_of(Ends(500), (1, 0))
    feed.receive(encode_hello(Hello(2)) + encode_epoch_report(500), 0)
    sent(feed)
    assert sent(feed)[0].endswith(bytes([42]))
    assert sent(feed, 1000) == []
    feed._confirmed = lambda: 43
    assert sent(feed, 49) == []
    assert sent(feed, 50)[0].endswith(bytes([43]))
    assert sent(feed, 1000) == []


@pytest.mark.parametrize(("from_last", "begin"), [(False, 1000), (True, 3000)])
def test_a_new_slave_gets_all_there_is_or_the_newest_file(from_last: bool, begin: int) -> None:
    feed = feed_of(Ends(3200, min_offset=1000), (1, 0))
    feed.receive(encode_hello(Hello(2, from_last)) + encode_epoch_report(0), 0)
    assert feed.next_offset == begin


def test_bytes_before_all_epochs_are_in_epoch_0() -> None:
    """The log of a master that had no controller before."""
    feed = feed_of(Ends(500), (1, 400))
    feed.receive(encode_hello(Hello(2)) + encode_epoch_report(0), 0)
    _, *headers = sent(feed)
    assert not headers
    first, second = sent(feed)
    assert (first.hex()[8:16], first.hex()[32:40]) == ("00000190", "00000000")
    assert (second.hex()[8:16], second.hex()[32:40]) == ("00000064", "00000001")


def test_slave_is_not_caught_up_before_first_report() -> None:
    feed = feed_of(Ends(500), (1, 0))
    feed.receive(encode_hello(Hello(2)), 7)
    assert feed.caught_up < -(2**60)
    feed.receive(encode_epoch_report(500), 9)
    assert feed.caught_up == 9


@pytest.mark.parametrize(("again", "is_prompt"), [(0, True), (750, True), (751, False), (5000, False)])
def test_slave_that_repeats_a_report_soon_is_prompt(again: int, is_prompt: bool) -> None:
    """Ours sends the first one twice; RocketMQ's repeats one every 5 s."""
    feed = feed_of(Ends(500), (1, 0))
    feed.receive(encode_hello(Hello(2)), 0)
    sent(feed)
    for at, offset in ((0, 100), (10, 200), (20, 500)):
        feed.receive(encode_epoch_report(offset), at)
        sent(feed)
    assert not feed.is_prompt
    feed.receive(encode_epoch_report(500), 20 + again)
    assert feed.is_prompt is is_prompt
    assert not feed.is_silent(2500, feed.heard + 2500)
    assert feed.is_silent(2500, feed.heard + 2501) is is_prompt


def test_a_slave_with_more_than_the_master_is_refused() -> None:
    feed = feed_of(Ends(500), (1, 0))
    with pytest.raises(StreamBroken, match="it has entries that this master lacks"):
        feed.receive(encode_hello(Hello(2)) + encode_epoch_report(501), 0)


def test_a_learner_says_so() -> None:
    feed = feed_of(Ends(500), (1, 0))
    assert feed.is_learner
    feed.receive(encode_hello(Hello(2, is_learner=True)), 0)
    assert feed.is_learner
    feed = feed_of(Ends(500), (1, 0))
    feed.receive(encode_hello(Hello(2)), 0)
    assert not feed.is_learner
    assert not feed.is_in_sync()
