"""Timers of a group whose master changes: the log is copied, and the current master delivers the rest."""

from __future__ import annotations

from mqgateway.engine.options import BrokerRole
from mqgateway.engine.timers.timers import Timers
from tests.support.engine.timers.bench import SLOTS, Bench


class Member(Bench):
    """A store that is master, or copies the log of one and leaves timers alone."""

    def make_timers(self) -> Timers:
        if self.options.broker_role is not BrokerRole.SLAVE:
            return super().make_timers()
        timers = Timers(self.store, self.options, self.disk, self.clock, self.worker, slots=SLOTS)
        timers.stand_by()
        return timers

    def copy(self, master: Bench) -> None:
        source, target = master.store.raw, self.store.raw
        while (at := target.position) < source.position:
            size = min(source.position - at, source.file_size - at % source.file_size)
            target.append(at, source.read(at, size))
        self.store.dispatch()

    def again(self, role: BrokerRole) -> Member:
        """Return the same store after a stop, in another role."""
        self.store.stop()
        self.timers.close()
        return Member(self.disk, self.clock, self.worker, **self.changes | {"broker_role": role})


def bodies(bench: Bench) -> list[bytes]:
    return sorted(one.body for one in bench.delivered())


def test_a_slave_that_becomes_master_delivers_what_is_left_and_nothing_twice() -> None:
    master = Member()
    slave = Member(clock=master.clock, broker_role=BrokerRole.SLAVE)
    for number in range(6):
        master.set_at(b"%d" % number, master.now + 1000 * (number + 2), key=f"k{number}")
    master.pass_time(4500)
    slave.copy(master)
    assert bodies(slave) == [b"0", b"1", b"2"]
    promoted = slave.again(BrokerRole.ASYNC_MASTER)
    promoted.pass_time(10_000)
    assert bodies(promoted) == [b"%d" % number for number in range(6)]


def test_a_master_that_was_a_slave_meanwhile_delivers_nothing_twice() -> None:
    """Its own files, from its time as master, are stale."""
    first = Member()
    for number in range(6):
        first.set_at(b"%d" % number, first.now + 1000 * (number + 2), key=f"k{number}")
    first.pass_time(3500)
    second = Member(clock=first.clock, broker_role=BrokerRole.SLAVE)
    second.copy(first)
    first = first.again(BrokerRole.SLAVE)
    second = second.again(BrokerRole.ASYNC_MASTER)
    second.pass_time(2500)
    first.copy(second)
    assert len(bodies(first)) in (3, 4, 5)
    first = first.again(BrokerRole.ASYNC_MASTER)
    first.pass_time(10_000)
    assert bodies(first) == [b"%d" % number for number in range(6)]


def test_broker_that_handed_back_continues_without_a_new_start() -> None:
    """On a change of the role at run time: nothing early, nothing twice, nothing lost."""
    bench = Member()
    for number in range(6):
        bench.set_at(b"%d" % number, bench.now + 1000 * (number + 2), key=f"k{number}")
    bench.pass_time(3500)
    before = bodies(bench)
    bench.timers.hand_back()
    bench.pass_time(2000)
    assert bodies(bench) == before
    assert bench.timers.wait_millis(bench.now) is None
    bench.timers.load()
    bench.pass_time(10_000)
    assert bodies(bench) == [b"%d" % number for number in range(6)]
