"""Open transactions of a master that is down: each half message goes to another broker once."""

from __future__ import annotations

from mqgateway.engine.message import Message
from mqgateway.engine.steps import run
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.transactions.escape import TransactionEscape
from mqgateway.engine.transactions.listing import GROUP
from tests.support.engine.transactions.transactions import INTERVAL, Bench


class Slave:
    """The transactions of a master on an acting slave; `goes` is True if other brokers accept messages."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.sent: list[Message] = []
        self.goes = True
        bench.store.put = self._put  # type: ignore[method-assign]
        self.escape = TransactionEscape(bench.store, bench.offsets)
        run(self.escape.begin())

    def _put(self, message: Message) -> PutResult:
        if not self.goes:
            return PutResult(PutStatus.PUT_TO_REMOTE_BROKER_FAIL)
        self.sent.append(message)
        return PutResult(PutStatus.PUT_OK)

    @property
    def bodies(self) -> list[bytes]:
        return [one.body for one in self.sent]

    @property
    def progress(self) -> int:
        return self.bench.offsets.query(GROUP, "RMQ_SYS_TRANS_HALF_TOPIC", 0)


def test_only_open_half_messages_are_sent() -> None:
    bench = Bench()
    at = [bench.send(b"%d" % number) for number in range(5)]
    bench.commit(at[0])
    bench.commit(at[3])
    bench.wait(3000)
    slave = Slave(bench)
    slave.escape.tick()
    assert slave.bodies == [b"1", b"2", b"4"]
    assert {one.topic for one in slave.sent} == {"RMQ_SYS_TRANS_HALF_TOPIC"}
    assert slave.progress == 5
    assert slave.escape.count == 3
    slave.escape.tick()
    assert len(slave.sent) == 3


def test_untaken_ones_wait() -> None:
    bench = Bench()
    bench.send(b"a")
    bench.send(b"b")
    slave = Slave(bench)
    slave.goes = False
    slave.escape.tick()
    assert slave.progress <= 0
    slave.goes = True
    slave.escape.tick()
    assert slave.bodies == [b"a", b"b"]


def test_of_one_that_was_asked_about_only_the_copy_goes() -> None:
    bench = Bench()
    bench.send(b"a")
    bench.wait(2 * INTERVAL)
    slave = Slave(bench)
    slave.escape.tick()
    assert slave.bodies == [b"a"]


def test_a_master_that_returns_does_not_ask_about_what_went_elsewhere() -> None:
    bench = Bench()
    bench.send(b"a")
    put = bench.store.put
    slave = Slave(bench)
    slave.escape.tick()
    bench.store.put = put  # type: ignore[method-assign]
    bench.log.load()
    assert bench.wait(10 * INTERVAL) == []


def test_one_that_says_no_place_is_left_out() -> None:
    bench = Bench()
    message = Message("RMQ_SYS_TRANS_HALF_TOPIC", 0, b"a", {}, 0, b"\0" * 8, b"\0" * 8)
    bench.store.put(message)
    bench.send(b"b")
    slave = Slave(bench)
    slave.escape.tick()
    assert slave.bodies == [b"b"]


def test_one_that_cannot_be_read_is_left_out_after_some_attempts() -> None:
    bench = Bench()
    first = bench.send(b"a")
    bench.send(b"b")
    slave = Slave(bench)
    look_up = bench.store.look_up
    bench.store.look_up = lambda at: None if at == first else look_up(at)  # type: ignore[method-assign]
    for _ in range(2):
        slave.escape.tick()
        assert slave.bodies == []
    slave.escape.tick()
    assert slave.bodies == [b"b"]
