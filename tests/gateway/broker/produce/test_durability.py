"""Durability that an acknowledgement waits for."""

import pytest
from twisted.internet.defer import CancelledError

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.message import Message
from mqgateway.engine.options import BrokerRole, FlushDiskType
from mqgateway.engine.worker import MemoryWorker
from mqgateway.gateway.codec.codes import ResponseCode
from tests.support.gateway.broker.helpers import STORE_HOST, MemoryBroker, batch_body


class Flushing:
    """A broker with SYNC_FLUSH whose syncs happen when a test says so."""

    def __init__(self, *, store: dict[str, object] | None = None, **options: object) -> None:
        self.worker = MemoryWorker()
        self.memory = MemoryBroker(
            worker=self.worker,
            options=options,
            store_options={"flush_disk_type": FlushDiskType.SYNC_FLUSH} if store is None else store,
        )
        self.worker.perform_all()
        self.memory.add_topic("T")
        self.memory.subscribe("G", "T")


@pytest.fixture
def flushing() -> Flushing:
    return Flushing()


def test_with_async_flush_nothing_waits() -> None:
    memory = MemoryBroker(worker=MemoryWorker())
    memory.add_topic("T")
    assert memory.send().code == 0


def test_a_send_waits_for_the_disk(flushing: Flushing) -> None:
    answer = flushing.memory.send()
    assert answer.waits
    flushing.worker.perform_all()
    assert answer.code == 0
    assert answer.ext["queueOffset"] == "0"


def test_many_sends_wait_for_one_sync(flushing: Flushing) -> None:
    flushing.worker.perform_all()  # what the topic was written with
    first = flushing.memory.send()
    assert flushing.worker.waiting == 1
    others = [flushing.memory.send() for _ in range(10)]
    assert flushing.worker.perform()
    assert first.code == 0
    assert all(answer.waits for answer in others)
    assert flushing.worker.perform()
    assert {answer.code for answer in others} == {0}


def test_message_can_opt_out_of_waiting(flushing: Flushing) -> None:
    assert flushing.memory.send(properties={"WAIT": "false"}).code == 0
    assert flushing.memory.send(properties={"WAIT": "true"}).waits
    assert flushing.memory.send(properties={}).waits


def test_slow_disk_times_out(flushing: Flushing) -> None:
    """The message is stored all the same, so the answer says where; its code says what is missing."""
    answer = flushing.memory.send()
    flushing.memory.wait(5000)
    assert answer.code == 10
    assert "msgId" in answer.ext


def test_a_batch_waits_too(flushing: Flushing) -> None:
    answer = flushing.memory.send(body=batch_body((b"a", {}), (b"b", {})), batch=True, properties={})
    assert answer.waits
    flushing.worker.perform_all()
    assert answer.code == 0
    assert answer.ext["msgId"].count(",") == 1


def test_message_that_is_not_durable_is_not_read(flushing: Flushing) -> None:
    pull = flushing.memory.pull(sys_flag=2)
    flushing.memory.send()
    assert pull.waits
    flushing.worker.perform_all()
    flushing.memory.broker.store.dispatch()
    assert pull.code == 0


def test_waiting_sends_are_limited() -> None:
    flushing = Flushing(max_sends_waiting_for_flush=1)
    first = flushing.memory.send()
    refused = flushing.memory.send()
    assert (refused.code, refused.remark) == (2, "[OVERLOAD]system busy, start flow control for a while")
    assert flushing.memory.broker.flow_control.totals == {"waiting for the disk": 1}
    flushing.worker.perform_all()
    assert first.code == 0
    assert flushing.memory.send().waits


@pytest.mark.parametrize(("for_disk", "for_slaves"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("is_flushed", [True, False])
def test_lost_producer_stops_waiting(*, for_disk: bool, for_slaves: bool, is_flushed: bool) -> None:
    """A producer that disconnects frees its slot, for each kind of wait."""
    waits = for_slaves or (for_disk and not is_flushed)
    flushing = Flushing(
        store={
            "flush_disk_type": FlushDiskType.SYNC_FLUSH if for_disk else FlushDiskType.ASYNC_FLUSH,
            "broker_role": BrokerRole.SYNC_MASTER if for_slaves else BrokerRole.ASYNC_MASTER,
            "in_sync_replicas": 2,
        },
        max_sends_waiting_for_flush=1,
    )
    store, durability = flushing.memory.broker.store, flushing.memory.broker.produce.durability
    result = store.put(Message("T", 0, b"x", {}, flushing.memory.clock.millis(), STORE_HOST, STORE_HOST))
    waiting = durability.wait(result)
    gone: list[object] = []
    waiting.addErrback(lambda failure: gone.append(failure.type))
    store.dispatch()
    if is_flushed:
        flushing.worker.perform_all()
    assert durability.is_full is waits
    waiting.cancel()
    assert not durability.is_full
    assert gone == [CancelledError] * waits
    flushing.worker.perform_all()
    flushing.memory.wait(20_000)
    assert not durability.is_full


def test_send_that_neither_disk_nor_slaves_confirm_reports_the_slaves() -> None:
    sync = {"flush_disk_type": FlushDiskType.SYNC_FLUSH, "broker_role": BrokerRole.SYNC_MASTER}
    flushing = Flushing(store={**sync, "in_sync_replicas": 2})
    answer = flushing.memory.send()
    flushing.memory.wait(10_000)
    assert answer.waits
    broker = flushing.memory.broker
    broker.produce.durability.replicas.expire(elapsed_millis(broker.clock))
    assert answer.code == ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_send_waiting_for_the_disk_is_not_acknowledged_by_a_fenced_broker(
    flushing: Flushing,
) -> None:
    """Also if it is master again before the flush: it does not know which broker was master meanwhile."""
    answer = flushing.memory.send()
    role = flushing.memory.broker.role
    role.become(RoleKind.FENCED)
    role.become(RoleKind.MASTER)
    flushing.worker.perform_all()
    assert answer.code == 14
    assert "role" in (answer.remark or "")
    later = flushing.memory.send()
    flushing.worker.perform_all()
    assert later.code == 0


def test_send_waiting_for_slaves_is_answered_as_soon_as_the_broker_is_fenced() -> None:
    memory = MemoryBroker(store_options={"broker_role": BrokerRole.SYNC_MASTER, "in_sync_replicas": 2})
    memory.add_topic("T")
    answer = memory.send()
    assert answer.waits
    memory.broker.role.become(RoleKind.FENCED)
    assert answer.code == 14
    assert memory.broker.produce.durability.replicas.waiting == 0


def test_a_broker_that_started_as_a_slave_waits_for_slaves_once_it_is_the_master() -> None:
    memory = MemoryBroker(options={"broker_id": 1}, store_options={"broker_role": BrokerRole.SLAVE})
    durability, role = memory.broker.produce.durability, memory.broker.role
    assert not durability.is_awaited
    role.become(RoleKind.MASTER)
    assert durability.is_awaited
    role.become(RoleKind.SLAVE, broker_id=1)
    assert not durability.is_awaited
