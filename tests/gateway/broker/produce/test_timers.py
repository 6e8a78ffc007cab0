"""Timers over the wire: recalled by handle; how far they have come; which engine serves them."""

import struct
from typing import Any

import pytest

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.timers.messages import RecallHandle
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.produce import timers
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import RecallMessageRequestHeader
from tests.support.gateway.broker.helpers import Answer, MemoryBroker


def broker(options: dict[str, Any] | None = None, **store_options: Any) -> MemoryBroker:
    memory = MemoryBroker(
        options={"recall_message_enable": True} | (options or {}),
        store_options=store_options,
    )
    memory.add_topic("T")
    memory.broker.timers.load()
    return memory


def set_timer(memory: MemoryBroker, seconds: int = 5, key: str = "K1") -> str:
    answer = memory.send("T", b"timed", properties={"TIMER_DELAY_SEC": str(seconds), "UNIQ_KEY": key})
    assert answer.code == 0
    return answer.ext["recallHandle"]


def recall(memory: MemoryBroker, handle: str, topic: str = "T") -> Answer:
    header = RecallMessageRequestHeader(producer_group="PG", topic=topic, recall_handle=handle)
    return memory.ask(RequestCode.RECALL_MESSAGE, header)


def bodies(memory: MemoryBroker, millis: int = 8000) -> list[bytes]:
    for _ in range(millis // 500):
        memory.wait(500)
    return [one.body for one in memory.stored("T")]


@pytest.mark.parametrize("with_topic", [False, True])
def test_recalled_message_is_not_delivered(with_topic: bool) -> None:
    memory = broker(append_topic_for_timer_delete_key=with_topic)
    handle = set_timer(memory)
    set_timer(memory, key="K2")
    memory.wait(500)
    answer = recall(memory, handle)
    assert (answer.code, answer.ext) == (0, {"msgId": "K1", "MSG_REGION": "DefaultRegion"})
    deletion = memory.stored("rmq_sys_wheel_timer")[-1]
    assert deletion.body == b"0"
    assert deletion.properties["TIMER_DEL_UNIQKEY"] == ("T+K1" if with_topic else "K1")
    assert deletion.properties["TAGS"] == "_RECALL_TAG_"
    assert bodies(memory) == [b"timed"]


def test_recall_is_disabled_by_default() -> None:
    memory = broker({"recall_message_enable": False})
    answer = recall(memory, set_timer(memory))
    assert (answer.code, answer.remark) == (16, "recall failed, operation is forbidden")


def test_recall_before_the_start_of_service_is_refused() -> None:
    memory = broker()
    handle = set_timer(memory)
    memory.options.start_accept_send_request_time_stamp = memory.clock.millis() + 1
    assert recall(memory, handle).code == 14


def test_while_writing_is_forbidden() -> None:
    memory = broker()
    handle = set_timer(memory)
    memory.options.broker_permission = 4
    memory.options.allow_recall_when_broker_not_writeable = False
    answer = recall(memory, handle)
    assert (answer.code, answer.remark) == (14, "recall failed, broker service not available")
    memory.options.allow_recall_when_broker_not_writeable = True
    assert recall(memory, handle).code == 0


def handle_of(memory: MemoryBroker, **changes: Any) -> str:
    usual = {"topic": "T", "broker_name": "broker-a", "time": str(memory.clock.millis() + 500), "key": "K"}
    return RecallHandle(**usual | changes).encode()


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"topic": "other"}, "recall failed, topic not match"),
        ({"broker_name": "broker-b"}, "recall failed, broker service not available"),
        ({"time": "soon"}, "recall failed, timestamp invalid"),
        ({"time": "1"}, "recall failed, timestamp invalid"),
        ({"time": "9" * 18}, "recall failed, timestamp invalid"),
        ({"time": "9" * 4000}, "recall failed, timestamp invalid"),
    ],
)
def test_foreign_handles_are_refused(changes: dict[str, str], remark: str) -> None:
    memory = broker()
    answer = recall(memory, handle_of(memory, **changes))
    assert (answer.code, answer.remark) == (604, remark)


def test_malformed_handles_are_refused() -> None:
    memory = broker()
    answer = recall(memory, "nonsense!")
    assert (answer.code, answer.remark) == (604, "recall handle is invalid")
    answer = recall(memory, handle_of(memory), topic="unknown")
    assert (answer.code, answer.remark) == (17, "recall failed, the topic[unknown] not exist")


def test_unwritable_store_refuses_recalls() -> None:
    memory = broker()
    handle = set_timer(memory)
    refused = PutResult(PutStatus.SERVICE_NOT_AVAILABLE)
    memory.broker.store.put = lambda message: refused  # type: ignore[method-assign]
    answer = recall(memory, handle)
    assert (answer.code, answer.remark) == (1, "recall failed, execute error")


def test_recall_waits_for_the_disk_like_a_send() -> None:
    memory = broker(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    now = memory.clock.millis()
    handle = RecallHandle("T", "broker-a", str(now + 4001), "K1").encode()
    answer = recall(memory, handle)
    memory.wait(20)
    assert answer.code == 0


def test_checkpoint_has_rocketmqs_56_bytes() -> None:
    memory = broker()
    set_timer(memory)
    memory.wait(1000)
    body = memory.ask(RequestCode.GET_TIMER_CHECK_POINT).arrived.body
    read_time, log_position, queue_offset, master_offset, _, _, counter = struct.unpack(">7q", body)
    assert read_time == memory.clock.millis()
    assert (log_position, queue_offset, master_offset) == (52, 1, 1)
    assert counter > 0


def test_pending_timers_by_topic() -> None:
    memory = broker()
    set_timer(memory)
    set_timer(memory, key="K2")
    memory.wait(100)
    table = loads(memory.ask(RequestCode.GET_TIMER_METRICS).arrived.body)
    assert table["timingCount"]["T"]["count"] == 2


def test_queries_without_a_wheel_are_refused() -> None:
    memory = broker(timer_wheel_enable=False)
    for code, remark in (
        (RequestCode.GET_TIMER_CHECK_POINT, "The checkpoint is null"),
        (RequestCode.GET_TIMER_METRICS, "The timer message store is null"),
    ):
        answer = memory.ask(code)
        assert (answer.code, answer.remark) == (1, remark)
    answer = memory.ask(RequestCode.SWITCH_TIMER_ENGINE, ext={"E_T": "F"})
    assert (answer.code, answer.remark) == (29, "broker timerWheelEnable is false")


@pytest.mark.parametrize(
    ("ext", "code", "remark"),
    [
        ({"E_T": "F"}, 0, "switch timer engine success"),
        ({"E_T": "R"}, 29, "timerRocksDBEnable must be configured true when broker start"),
        ({"E_T": "x"}, 29, "param error"),
        ({"other": "F"}, 29, "param error"),
        (None, 29, "param error, extFields is null"),
    ],
)
def test_the_engine_is_the_wheel(ext: dict[str, str] | None, code: int, remark: str) -> None:
    memory = broker(timer_stop_enqueue=True)
    answer = memory.ask(RequestCode.SWITCH_TIMER_ENGINE, ext=ext)
    assert (answer.code, answer.remark) == (code, remark)
    assert memory.store_options.timer_stop_enqueue is (code != 0)


def test_recall_by_operation() -> None:
    memory = broker()
    handle = set_timer(memory)
    memory.wait(500)
    now = memory.clock.millis()
    outcome = timers.recall(memory.broker, "T", handle, None, memory.producer, now)
    assert outcome == timers.RecallOutcome("K1", "DefaultRegion")
    with pytest.raises(OperationError) as caught:
        timers.recall(memory.broker, "T", "nonsense!", None, memory.producer, now)
    assert caught.value.reason is Reason.ILLEGAL_OPERATION


def test_figures_of_the_engine_by_operation() -> None:
    memory = broker()
    assert len(timers.check_point(memory.broker)) == 56
    assert "timingCount" in loads(timers.metrics(memory.broker))
    with pytest.raises(OperationError) as caught:
        timers.switch_engine(memory.broker, "R")
    assert caught.value.reason is Reason.INVALID_PARAMETER
