"""A log written by another broker refuses puts; single messages may be redirected."""

from __future__ import annotations

from mqgateway.engine.message import Message
from mqgateway.engine.steps import run
from mqgateway.engine.store.large_batch import LargeBatch
from mqgateway.engine.store.results import PutResult, PutStatus
from mqgateway.engine.store.write_gate import WriteGate
from tests.support.engine.store.stores import Bench, batch, message


def test_nothing_is_put_through_a_closed_gate() -> None:
    store = Bench().store
    in_common = message()
    large = run(store.make_ready(in_common, batch(b"x")))
    assert isinstance(large, LargeBatch)
    store.gate = WriteGate("closed")
    results = [
        store.put(message()),
        store.put_batch(message(), batch(b"x")),
        store.put_batch(in_common, large),
        store.put_inner_batch(message(body=batch(b"x"))),
    ]
    assert [(one.status, one.remark) for one in results] == [(PutStatus.SERVICE_NOT_AVAILABLE, "closed")] * 4
    assert (store.raw.position, store.refusal, store.is_writable) == (0, "closed", False)
    store.gate = None
    assert store.put(message()).status is PutStatus.PUT_OK


def test_single_messages_go_elsewhere() -> None:
    store = Bench().store
    sent: list[Message] = []

    def elsewhere(one: Message) -> PutResult:
        sent.append(one)
        return PutResult(PutStatus.PUT_OK)

    store.gate = WriteGate("closed", elsewhere)
    assert store.put(message(body=b"x")).status is PutStatus.PUT_OK
    assert store.put_batch(message(), batch(b"x")).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert ([one.body for one in sent], store.raw.position) == ([b"x"], 0)


def test_closed_gate_accepts_raw_bytes_of_master() -> None:
    original, copy = Bench().store, Bench().store
    original.put(message(body=b"x"))
    copy.gate = WriteGate("closed")
    copy.raw.append(0, original.raw.read(0, original.raw.position))
    copy.dispatch()
    assert copy.max_offset("orders", 0) == 1
