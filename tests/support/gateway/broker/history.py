"""One scripted life of a broker, and the contents of its files afterwards.

Requests, times, keys and random numbers are given here. So two versions of the broker that are one on disk
leave the same bytes. `python -m tests.support.gateway.broker.history` prints a line for each file; run it in
two checkouts and compare.
"""

from __future__ import annotations

import os
import random
from unittest.mock import patch

from mqgateway.engine.message import SysFlag
from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    ConsumerSendMsgBackRequestHeader,
    EndTransactionRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from tests.support.engine.store.history import PROCESS, digests, lines
from tests.support.engine.store.producing import put_mapped, put_marker, put_whole
from tests.support.gateway.broker.helpers import Answer, batch_body
from tests.support.gateway.broker.pop import PopBroker

SEED = 7
FILES = {
    "message_index_enable": True,
    "mapped_file_size_commit_log": 1 << 16,
    "mapped_file_size_consume_queue": 20 * 64,
    "mapper_file_size_batch_consume_queue": 46 * 8,
    "mapped_file_size_timer_log": 1 << 16,
    "max_hash_slot_num": 100,
    "max_index_num": 500,
}
COMMIT, ROLLBACK = SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK


def live() -> dict[str, dict[str, str]]:
    """Return the digests of all files at several moments of the life, by moment and path."""
    before = random.getstate()
    random.seed(SEED)
    try:
        with patch.object(os, "getpid", lambda: PROCESS):
            return _live()
    finally:
        random.setstate(before)


def _live() -> dict[str, dict[str, str]]:
    found = {}
    broker = PopBroker(store_options=FILES)
    broker.add_topic("Ordered", queues=2)
    for round_ in range(3):
        _send(broker, round_)
        _read(broker, round_)
        broker.pass_time(12_000)
    found["open"] = digests(broker.disk)  # type: ignore[arg-type]
    broker = broker.restart()
    found["restarted"] = digests(broker.disk)  # type: ignore[arg-type]
    _send(broker, 3)
    _read(broker, 3)
    broker.pass_time(30_000)
    broker = broker.kill()
    _send(broker, 4)
    broker.pass_time(30_000)
    broker = broker.crash(5)
    _send(broker, 5)
    _read(broker, 5)
    broker.pass_time(90_000)
    broker = broker.restart()
    found["after a kill and a power cut"] = digests(broker.disk)  # type: ignore[arg-type]
    broker.add_topic("batched", queues=1, attributes={"queue.type": "BatchCQ"})
    _send_batches_of_kafka(broker)
    broker.pass_time(30_000)
    broker = broker.restart()
    found["with batches of Kafka"] = digests(broker.disk)  # type: ignore[arg-type]
    return found


def _send(broker: PopBroker, round_: int) -> None:
    """Send messages of every kind."""
    for number in range(12):
        properties = {"UNIQ_KEY": f"K{round_}-{number}", "KEYS": f"a{number} b", "TAGS": "AB"[number % 2]}
        _sent(broker.send("T", b"%d" % number * 20, properties=properties, queue_id=number % 4))
    _sent(broker.send(f"New{round_}", b"creates its topic", queue_id=-1))
    for queue_id, count, more in ((1, 40, {}), (2, 300, {"KEYS": "k", "TAGS": "t"})):
        elements = [(b"%d" % number, {"UNIQ_KEY": f"B{round_}-{number}", **more}) for number in range(count)]
        body = batch_body(*elements)
        _sent(broker.send("T", body, properties={"WAIT": "true"}, batch=True, queue_id=queue_id))
    later = {"DELAY": "1"}, {"DELAY": "3"}, {"TIMER_DELAY_SEC": "7"}
    for number, wanted in enumerate((*later, {"TIMER_DELIVER_MS": str(broker.clock.millis() + 15_000)})):
        _sent(broker.send("T", b"later", properties={"UNIQ_KEY": f"D{round_}-{number}", **wanted}))
    for number, end in enumerate((COMMIT, ROLLBACK, COMMIT)):
        _send_in_transaction(broker, f"T{round_}-{number}", number % 2, end)


def _send_in_transaction(broker: PopBroker, key: str, queue_id: int, end: int) -> None:
    properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "PG"}
    answer = _sent(broker.send("Ordered", b"half", properties=properties, queue_id=queue_id))
    header = EndTransactionRequestHeader(
        producer_group="PG",
        tran_state_table_offset=int(answer.ext["queueOffset"]),
        commit_log_offset=int(answer.ext["msgId"][16:], 16),
        commit_or_rollback=end,
        msg_id=key,
        transaction_id=key,
        topic="Ordered",
    )
    _sent(broker.ask(RequestCode.END_TRANSACTION, header))


def _read(broker: PopBroker, round_: int) -> None:
    """Pop, acknowledge, pull, send back and commit offsets."""
    broker.subscribe("G", "T")
    popped = broker.pop(max_msg_nums=8)
    assert len(popped) > 2
    _sent(broker.ack(popped[0]))
    _sent(broker.change(popped[1], 20_000))
    _sent(broker.batch_ack(popped[2]))
    for message in broker.pop(queue_id=0, order=True, max_msg_nums=4, consumer_group="O")[:2]:
        _sent(broker.ack(message, group="O"))
    [first, *_] = _sent(broker.pull("T")).messages
    back = ConsumerSendMsgBackRequestHeader(
        offset=first.physical_offset,
        group="G",
        delay_level=2,
        origin_msg_id="x",
        origin_topic="T",
        unit_mode=False,
        max_reconsume_times=3,
    )
    _sent(broker.ask(RequestCode.CONSUMER_SEND_MSG_BACK, back))
    committed = UpdateConsumerOffsetRequestHeader(
        consumer_group="G", topic="T", queue_id=0, commit_offset=3 + round_
    )
    _sent(broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, committed))


def _send_batches_of_kafka(broker: PopBroker) -> None:
    """Put batches of producers, whole and as messages, and the markers of transactions."""
    store = broker.broker.store
    for number in range(6):
        put_whole(store, ProducerBatch(5, 0, 3 * number, 3))
        put_whole(store, ProducerBatch(6 + number % 2, 0, number // 2, 1, is_transactional=True))
        put_mapped(store, ProducerBatch(9, 0, 2 * number, 2))
        if number % 3 == 2:
            put_marker(store, 6, True)
            put_marker(store, 7, False)
        store.dispatch()
    store.move_start("batched", 0, 4)
    store.dispatch()


def _sent(answer: Answer) -> Answer:
    assert answer.code == 0
    return answer


if __name__ == "__main__":
    print("\n".join(lines(live())))
