"""A slave's side of a connection under a controller, as in `AutoSwitchHAClient`."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.epoch_follow import EpochFollow
from mqgateway.engine.ha.epoch_frames import (
    Hello,
    encode_epoch_header,
    encode_epoch_report,
    encode_epochs,
    encode_hello,
)
from mqgateway.engine.ha.epochs import Epoch, Epochs
from mqgateway.engine.ha.frames import StreamBroken
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.ha.logs import options


class Slave:
    """A log that is only a length, with epochs."""

    def __init__(self, position: int, *entries: tuple[int, int]) -> None:
        self.position = position
        self.can_cut = True
        self.confirmed = -1
        self.epochs = Epochs(CrashDisk(), "/store/epochs")
        for number, start in entries:
            self.epochs.begin(number, start)
        self.follow = EpochFollow(
            options(),
            self,
            0,
            hello=Hello(2),
            epochs=self.epochs,
            cut=self.cut,
            confirm=self.confirm,
        )

    def append(self, offset: int, data: bytes) -> None:
        assert offset == self.position or not self.position
        self.position = offset + len(data)

    def cut(self, offset: int) -> bool:
        if self.can_cut:
            self.position = min(self.position, offset)
        return self.can_cut

    def confirm(self, offset: int) -> None:
        self.confirmed = offset

    def report(self, now: int = 0) -> bytes:
        return self.follow.report(self.position, now)

    def greet(self, end: int, *entries: tuple[int, int]) -> None:
        assert self.report() == encode_hello(Hello(2))
        assert self.report() == b""
        self.follow.receive(encode_epochs(end, [Epoch(*entry) for entry in entries]), 0)


def test_diverged_tail_is_truncated_and_reported_at_once() -> None:
    slave = Slave(700, (1, 0), (2, 500))
    slave.greet(900, (1, 0), (3, 600))
    assert slave.report() == encode_epoch_report(500) * 2
    assert slave.position == 500
    assert slave.epochs.entries == [Epoch(1, 0)]
    assert slave.report(399) == b""
    assert slave.report(400) == encode_epoch_report(500)


def test_nothing_is_asked_for_before_the_disk_has_taken_the_cut() -> None:
    slave = Slave(700, (1, 0))
    slave.can_cut = False
    slave.greet(650, (1, 0))
    assert slave.report() == b""
    slave.can_cut = True
    assert slave.report() == encode_epoch_report(650) * 2


def test_transfer_is_appended_with_its_epoch() -> None:
    slave = Slave(500, (1, 0))
    slave.greet(900, (1, 0), (3, 600))
    slave.report()
    assert slave.follow.receive(encode_epoch_header(500, 100, Epoch(1, 0), 550) + bytes(100), 1) == 100
    assert slave.confirmed == 550
    assert slave.follow.receive(encode_epoch_header(600, 0, Epoch(3, 600), 900), 1) == 0
    assert slave.epochs.entries == [Epoch(1, 0), Epoch(3, 600)]
    assert slave.confirmed == 600
    assert slave.report() == encode_epoch_report(600)


def test_the_standards_master_of_an_empty_log_has_no_offset_yet() -> None:
    slave = Slave(0)
    slave.greet(0, (1, 0))
    assert slave.report() == encode_epoch_report(0) * 2
    assert slave.follow.receive(encode_epoch_header(-1, 0, Epoch(1, 0), 0), 1) == 0
    assert slave.epochs.entries == []


def test_an_empty_log_has_no_epochs() -> None:
    """Another master began it and wrote nothing."""
    slave = Slave(0, (1, 0))
    slave.greet(50, (2, 0))
    assert slave.report() == encode_epoch_report(0) * 2
    assert slave.follow.receive(encode_epoch_header(0, 50, Epoch(2, 0), 0) + bytes(50), 1) == 50
    assert slave.epochs.entries == [Epoch(2, 0)]


def test_logs_without_a_common_epoch_stay_as_they_are() -> None:
    slave = Slave(100, (2, 0))
    with pytest.raises(StreamBroken, match="no epoch in common: ours 2 from 0, the master's 3 from 0"):
        slave.greet(200, (3, 0))
    assert slave.position == 100


def test_a_gap_is_not_followed() -> None:
    slave = Slave(100, (1, 0))
    slave.greet(200, (1, 0))
    slave.report()
    with pytest.raises(StreamBroken, match="our log ends at 100"):
        slave.follow.receive(encode_epoch_header(120, 1, Epoch(1, 0), 0) + b"x", 0)


def test_an_older_epoch_is_not_followed() -> None:
    slave = Slave(100, (1, 0), (4, 50))
    slave.greet(200, (1, 0), (4, 50))
    slave.report()
    with pytest.raises(StreamBroken, match="sends epoch 3"):
        slave.follow.receive(encode_epoch_header(100, 0, Epoch(3, 20), 0), 0)


def test_nothing_is_taken_before_the_first_report() -> None:
    slave = Slave(100, (1, 0))
    slave.greet(200, (1, 0))
    with pytest.raises(StreamBroken, match="before the start offset"):
        slave.follow.receive(encode_epoch_header(100, 1, Epoch(1, 0), 0) + b"x", 0)


def test_a_silent_master_is_given_up() -> None:
    slave = Slave(0)
    assert not slave.follow.is_expired(20_000)
    assert slave.follow.is_expired(20_001)
