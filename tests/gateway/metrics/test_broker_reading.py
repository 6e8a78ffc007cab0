import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.metrics.broker_reading import WITHIN, BrokerReading
from tests.support.gateway.metrics import ExportingBroker


def test_repeated_reads_of_a_scrape_reuse_the_first_result() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.send("T")
    host.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G"))
    host.broker.tables.offsets.commit("G", "T", 0, 0)
    reading = host.reading()
    first, topics = list(reading.lags()), ever_put(reading)
    host.send("T")
    assert list(reading.lags()) == first
    assert ever_put(reading) == topics
    assert reading.runtime() is reading.runtime()
    assert ever_put(host.reading())["T"] == 2


def ever_put(reading: BrokerReading) -> dict[str, int]:
    """Return the number of messages ever put, by topic."""
    return {topic: messages for part in reading.topics("") for topic, messages in part}


def test_queues_beyond_the_write_queues_do_not_count() -> None:
    host = ExportingBroker()
    host.add_topic("T", queues=2)
    for _ in range(2):
        host.send("T", queue_id=1)
    assert ever_put(host.reading())["T"] == 2
    host.broker.tables.topics.put(TopicConfig(topic_name="T", write_queue_nums=1))
    assert ever_put(host.reading())["T"] == 0


def test_system_topics_and_groups() -> None:
    reading = ExportingBroker().reading()
    assert reading.is_system("T", "G") == "false"
    assert reading.is_system("rmq_sys_wheel_timer", "G") == "true"
    assert reading.is_system("T", "CID_RMQ_SYS_TRANS") == "true"
    assert reading.is_system("T", "G") == "false"


def test_pulled_and_popped_messages_are_counted_apart() -> None:
    host = ExportingBroker()
    host.broker.stats.got("G", "T", 5, 500)
    host.meters.popped("T", "G", 2, 200)
    host.broker.stats.got("G", "%RETRY%G_T", 1, 100)
    host.meters.popped("%RETRY%G_T", "G", 1, 100)
    reading = host.reading()
    assert {one for part in reading.messages_out() for one in part} == {
        (("G", "T", "false"), 2),
        (("G", "T", ""), 3),
        (("G", "T", "true"), 1),
    }
    assert sum(size for part in reading.throughput_out() for _, size in part) == 600


def test_progress_counts_messages_behind_the_committed_offset() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G"))
    for _ in range(3):
        host.send("T")
    host.broker.tables.offsets.commit("G", "T", 0, 1)
    host.broker.tables.offsets.commit("gone", "T", 0, 1)
    (part,) = host.reading().progress()
    assert [one[:4] for one in part] == [("T", "G", 1, 2)]


def test_topics_by_kind() -> None:
    host = ExportingBroker()
    for name in ("T", "%RETRY%G", "%DLQ%G", "U"):
        host.add_topic(name)
    host.send("%DLQ%G")
    reading = host.reading()
    for _ in range(2):
        found = {
            kind: [one for part in reading.topics(kind) for one in part] for kind in ("%DLQ%", "%RETRY%")
        }
        assert found == {"%DLQ%": [("%DLQ%G", 1)], "%RETRY%": [("%RETRY%G", 0)]}
        assert {"T", "U"} < ever_put(reading).keys() and "%DLQ%G" not in ever_put(reading)


def test_a_broker_without_timers_has_none() -> None:
    host = ExportingBroker(store_options={"timer_wheel_enable": False})
    assert list(host.reading().timers_within()) == []
    assert host.values("rocketmq_timer_dequeue_lag") == {}


def test_wheel_is_not_read_without_pending_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    host = ExportingBroker()
    monkeypatch.setattr(host.broker.timers.wheel, "used", lambda begin, end: pytest.fail("it was read"))
    assert list(host.reading().timers_within()) == [(seconds, 0) for seconds in WITHIN]
