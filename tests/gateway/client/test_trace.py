"""Traces: recorded events, and their keys."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.client.listening import Consumed
from mqgateway.gateway.client.message import Message, TransactionState
from mqgateway.gateway.client.options import ProducerOptions
from mqgateway.gateway.client.producer import traced
from mqgateway.gateway.client.trace import KeyedTraceRecord, Tracer, _parts
from mqgateway.gateway.codec.codes import RequestCode
from tests.gateway.client.test_message import received
from tests.gateway.client.test_push import Inbox, begin, refuse
from tests.gateway.client.test_transactions import Listener
from tests.gateway.client.test_transactions import begin as deciding
from tests.support.gateway.client.cluster import Cluster, requests_seen

TRACES = "RMQ_SYS_TRACE_TOPIC"


def traces(cluster: Cluster) -> list[list[str]]:
    """The fields of all records that are stored."""
    bodies = cluster.everything(TRACES, 4)
    return [record.split("\x01") for body in bodies for record in body.decode().split("\x02") if record]


def test_sends_are_recorded() -> None:
    with Cluster(trace_topic_enable=True, trace_on=True) as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_trace=True)
        sent = cluster.run(producer.send(Message("T", "hello", tags="A", keys=["k1", "k2"])))
        delayed = cluster.run(producer.send(Message("T", "later", delay_level=1)))
        cluster.settle(6.0)
        first, second = traces(cluster)
        assert first[0] == "Pub" and int(first[1]) > 0
        assert first[2:5] == ["DefaultRegion", "Producers", "T"]
        assert first[5:10] == [sent.message_id, "A", "k1 k2", "10.0.0.1:10911", "5"]
        assert first[11:] == ["0", sent.offset_message_id, "true"]
        assert second[5:8] == [delayed.message_id, "null", "null"] and second[11] == "3"


def test_consumption_is_recorded_before_and_after() -> None:
    with Cluster(trace_topic_enable=True, trace_on=True) as cluster:
        cluster.make_topic("T", queues=1)
        sent = cluster.run(cluster.producer().send(Message("T", "x", keys="k")))
        inbox = Inbox(ValueError("not yet"))
        begin(cluster, inbox, enable_trace=True)
        cluster.wait_for(lambda: len(inbox.got) == 2)
        cluster.settle(6.0)
        records = sorted(traces(cluster), key=lambda one: int(one[1]) if one[0] == "SubBefore" else 0)
        after = [one for one in records if one[0] == "SubAfter"]
        before = [one for one in records if one[0] == "SubBefore"]
        assert [one[5:8] for one in before] == [[sent.message_id, "0", "k"], [sent.message_id, "1", "k"]]
        assert [one[2:4] for one in before] == [["DefaultRegion", "G"]] * 2
        by_number = {one[1]: one for one in after}
        codes = [(by_number[one[4]][4], by_number[one[4]][6]) for one in before]
        assert codes == [("false", "2"), ("true", "0")]  # an exception, then success
        cluster.watch.complaints.clear()


def test_traces_are_found_by_the_ids_they_are_about() -> None:
    with Cluster(trace_topic_enable=True, trace_on=True) as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_trace=True)
        sent = cluster.run(producer.send(Message("T", "x", keys="k")))
        cluster.settle(6.0)
        found = cluster.broker.store.query(TRACES, sent.message_id, 10, 0, 2**62)
        assert len(found.records) == 1


def test_the_ends_of_transactions_are_recorded() -> None:
    with Cluster(trace_topic_enable=True, trace_on=True) as cluster:
        listener = Listener(TransactionState.UNKNOWN, TransactionState.ROLLBACK)
        producer = deciding(cluster, listener, enable_trace=True)
        sent = cluster.run(producer.send_in_transaction(Message("T", "x", tags="A", keys="k")))
        cluster.wait_for(lambda: listener.checked, 120.0)
        cluster.settle(6.0)
        half, first, second = (one for one in traces(cluster) if one[0] in ("Pub", "EndTransaction"))
        assert half[11] == "1"
        message_id = sent.sent.message_id
        about = ["DefaultRegion", "Deciders", "T", message_id, "A", "k", "10.0.0.1:10911", "2", message_id]
        assert first[2:] == [*about, "UNKNOW", "false"]
        assert second[2:] == [*about, "ROLLBACK_MESSAGE", "true"]
        assert int(first[1]) < int(second[1])


def test_recalls_are_recorded_whether_they_come_in_time_or_not() -> None:
    with Cluster(trace_topic_enable=True, trace_on=True, recall_message_enable=True) as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_trace=True)
        sent = cluster.run(producer.send(Message("T", "x", delay_millis=30_000)))
        assert sent.recall_handle is not None
        cluster.run(producer.recall("T", sent.recall_handle))
        cluster.broker.options.recall_message_enable = False
        with pytest.raises(BrokerError):
            cluster.run(producer.recall("T", sent.recall_handle))
        cluster.settle(6.0)
        recalls = [one for one in traces(cluster) if one[0] == "Recall"]
        about = ["DefaultRegion", "Producers", "T", sent.message_id]
        assert [one[2:] for one in recalls] == [[*about, "true"], [*about, "false"]]


def test_nothing_is_recorded_unless_wanted() -> None:
    with Cluster(trace_topic_enable=True) as cluster:
        cluster.make_topic("T", queues=1)
        cluster.run(cluster.producer().send(Message("T", "x")))
        # The broker says that it does not want traces.
        quiet = cluster.producer("Quiet", enable_trace=True)
        cluster.broker.options.trace_on = False
        cluster.run(quiet.send(Message("T", "x")))
        cluster.settle(6.0)
        assert traces(cluster) == []


class Scene(Cluster):
    """A tracer by itself."""

    def tracer(self, **settings: Any) -> Tracer:
        options = ProducerOptions(**settings)
        tracer = traced(self.client(), options, self.around, "G")
        self.run(Deferred.fromCoroutine(tracer.start()))
        return tracer


def test_ten_records_go_out_at_once() -> None:
    with Scene(trace_topic_enable=True) as scene:
        tracer = scene.tracer()
        seen = requests_seen(scene)
        for _ in range(10):
            tracer.before([received(UNIQ_KEY="K")])
        scene.settle()
        assert len([one for one in seen if one.code == RequestCode.SEND_MESSAGE_V2]) == 1
        assert len(traces(scene)) == 10
        scene.run(Deferred.fromCoroutine(tracer.close()))


def test_excess_records_are_dropped_and_unsendable_ones_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Scene(trace_topic_enable=True) as scene:
        tracer = scene.tracer(trace_queue_max=3, trace_msg_batch_num=100)
        context = tracer.before([received() for _ in range(5)])
        tracer.after(context, Consumed.SUCCESS, False)
        refuse(scene, RequestCode.SEND_MESSAGE_V2)
        with caplog.at_level(logging.WARNING):
            scene.settle(6.0)
        assert "7 trace records were dropped" in caplog.text and "3 trace records are lost" in caplog.text


def test_messages_of_records_have_a_limit() -> None:
    records = [KeyedTraceRecord("T", "x" * 50_000, frozenset("k")) for _ in range(5)]
    assert [len(part) for part in _parts(records)] == [2, 2, 1]
