"""Producing, as the design says it: every line has a test of its name."""

from __future__ import annotations

from random import Random

import pytest

from mqgateway.engine.message import SysFlag, parse_properties
from mqgateway.gateway.client.compression import Compression
from mqgateway.gateway.client.errors import BadArgument, BrokerError, NoRoute, NotRunning, SendFailed, TooBusy
from mqgateway.gateway.client.message import Message, SendStatus
from mqgateway.gateway.client.selectors import by_hash
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import SendMessageRequestHeaderV2
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, messages, queue_of, requests_seen, topics_asked_for

B_PORT = 20911
SENDS = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)


def test_synchronous_send_reports_where_the_message_lies() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        sent = cluster.run(producer.send(Message("T", "hello", tags="A", keys=["k1", "k2"])))
        assert sent.status is SendStatus.SEND_OK
        assert (sent.queue, sent.queue_offset) == (queue_of("T"), 0)
        assert len(sent.message_id) == 32 and len(sent.offset_message_id) == 32
        assert cluster.stored("T") == [b"hello"]


def test_asynchronous_sends_are_in_flight_together() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer()
        sends = [producer.send(message) for message in messages("T", 20)]
        cluster.settle()
        assert all(send.called for send in sends)
        assert sorted(cluster.everything("T"), key=int) == [str(n).encode() for n in range(20)]


def test_oneway_send_is_not_answered() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer()
        seen = requests_seen(cluster)
        cluster.run(producer.send_oneway(Message("T", "away")))
        cluster.settle()
        assert [command.is_oneway for command in seen if command.code in SENDS] == [True]
        assert cluster.everything("T") == [b"away"]


def test_publish_info_comes_from_the_cache_else_the_name_server_else_the_default_topic() -> None:
    with Cluster() as cluster:
        cluster.make_topic("Known", queues=2)
        producer = cluster.producer()
        cluster.settle(1.0)
        asked = topics_asked_for(cluster)
        for name in ("Known", "Known", "New", "New"):
            assert cluster.run(producer.send(Message(name, "x"))).queue.topic == name
        assert asked() == ["Known", "New", "TBW102"]
        # A new topic is written to the queues that it will have: four at most.
        assert [len(cluster.run(producer.queues(name))) for name in ("Known", "New")] == [2, 4]


def test_round_robin_over_queues() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=3)
        producer = cluster.producer()
        queues = [cluster.run(producer.send(message)).queue.queue_id for message in messages("T", 9)]
        first = queues[0]
        assert queues == [(first + number) % 3 for number in range(9)]


def test_a_retry_avoids_the_broker_that_failed() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        other = cluster.add_broker("broker-b", B_PORT)
        cluster.make_topic("T", queues=2, port=B_PORT)
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "both know us")))
        cluster.cut(BROKER_PORT)
        for message in messages("T", 6):
            sent = cluster.run(producer.send(message, timeout=20))
            assert sent.queue.broker_name == "broker-b"
        assert len(cluster.everything("T", 2, other)) >= 6


def test_two_retries_and_then_the_reason() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        seen = requests_seen(cluster)
        cluster.broker.options.reject_transaction_message = True
        half = Message("T", "y", properties={"TRAN_MSG": "true", "PGROUP": "Producers"})
        with pytest.raises(SendFailed) as failed:
            cluster.run(producer.send(half))
        assert failed.value.code == 16 and failed.value.brokers == ("broker-a",) * 3
        assert isinstance(failed.value.__cause__, BrokerError)
        assert len([command for command in seen if command.code in SENDS]) == 3


def test_refusal_that_no_other_broker_would_mend_is_reported_at_once() -> None:
    with Cluster(max_message_size=1024) as cluster:
        cluster.make_topic("T")
        producer = cluster.producer()
        seen = requests_seen(cluster)
        with pytest.raises(BrokerError) as refused:
            cluster.run(producer.send(Message("T", Random(1).randbytes(3000))))
        assert refused.value.code == 13
        assert len([command for command in seen if command.code in SENDS]) == 1


def test_a_send_gives_up_when_its_time_is_up() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.cut(BROKER_PORT)
        began = cluster.net.seconds()
        with pytest.raises(SendFailed):
            cluster.run(producer.send(Message("T", "y"), timeout=2.0))
        assert cluster.net.seconds() - began <= 3.0


def test_ids_are_given_once_and_kept() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        message = Message("T", "x")
        first = cluster.run(producer.send(message))
        second = cluster.run(producer.send(message))
        assert first.message_id == second.message_id == message.unique_key
        assert first.offset_message_id != second.offset_message_id
        others = [cluster.run(producer.send(one)).message_id for one in messages("T", 50)]
        assert len({*others, first.message_id}) == 51


@pytest.mark.parametrize("kind", list(Compression))
def test_large_bodies_are_compressed(kind: Compression) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(compress_type=kind)
        seen = requests_seen(cluster)
        body = b"again and " * 1000
        cluster.run(producer.send(Message("T", body)))
        (command,) = [one for one in seen if one.code in SENDS]
        header = SendMessageRequestHeaderV2.decode(command.ext_fields)
        assert header.sys_flag & SysFlag.COMPRESSED and len(command.body) < len(body) / 5
        cluster.run(producer.send(Message("T", b"x" * 4095)))
        assert len(seen[-1].body) == 4095


def test_one_key_one_queue_with_a_selector() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer()
        for number in range(12):
            sent = cluster.run(
                producer.send(Message("T", str(number)), selector=by_hash, argument=f"order-{number % 3}")
            )
            assert sent.queue == by_hash(
                cluster.run(producer.queues("T")), Message("T"), f"order-{number % 3}"
            )


def test_a_batch_is_cut_where_it_is_full() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(max_message_size=2000)
        results = cluster.run(producer.send_batch([Message("T", b"x" * 400) for _ in range(10)]))
        assert len(results) > 1
        assert sum(len(result.message_id.split(",")) for result in results) == 10
        assert len(cluster.stored("T")) == 10


def test_a_namespace_is_known_to_the_client_alone() -> None:
    with Cluster() as cluster:
        producer = cluster.producer(namespace="ns")
        sent = cluster.run(producer.send(Message("T", "x")))
        assert sent.queue.topic == "T"
        assert cluster.stored("ns%T", sent.queue.queue_id) == [b"x"]
        assert "ns%Producers" in cluster.broker.clients.producer_groups


def test_namespace_v2_goes_with_every_request() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer(namespace_v2="ns")
        seen = requests_seen(cluster)
        cluster.run(producer.send(Message("T", "x")))
        assert {(one.ext_fields.get("nsd"), one.ext_fields.get("ns")) for one in seen} == {("true", "ns")}


def test_sends_use_the_vip_channel_if_configured() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer(vip_channel_enabled=True)
        cluster.run(producer.send(Message("T", "x")))
        ports = {pair.server.host.port for pair in cluster.net.pairs}
        assert BROKER_PORT - 2 in ports


def test_no_more_sends_in_flight_than_allowed() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer(max_sends_in_flight=2)
        sends = [producer.send(message) for message in messages("T", 2)]
        with pytest.raises(TooBusy):
            cluster.run(producer.send(Message("T", "one too many")))
        for send in sends:
            cluster.run(send)
        cluster.run(producer.send(Message("T", "again")))


def test_a_topic_without_route_is_refused() -> None:
    with Cluster(auto_create_topic_enable=False) as cluster:
        producer = cluster.producer()
        with pytest.raises(NoRoute):
            cluster.run(producer.send(Message("Nowhere", "x")))


def test_a_topic_that_may_not_be_written_has_no_queue() -> None:
    with Cluster() as cluster:
        cluster.make_topic("ReadOnly", perm=4)
        producer = cluster.producer()
        with pytest.raises(NoRoute, match="written"):
            cluster.run(producer.send(Message("ReadOnly", "x")))


def test_routes_are_polled_every_30_seconds() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.make_topic("T", queues=5)
        assert len(cluster.run(producer.queues("T"))) == 1
        cluster.settle(31.0)
        assert len(cluster.run(producer.queues("T"))) == 5


def test_a_timer_can_be_recalled() -> None:
    with Cluster(recall_message_enable=True) as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        sent = cluster.run(producer.send(Message("T", "not yet", delay_millis=60_000)))
        assert sent.recall_handle
        assert cluster.run(producer.recall("T", sent.recall_handle)) == sent.message_id
        cluster.settle(70.0)
        assert cluster.stored("T") == []
        with pytest.raises(BadArgument):
            cluster.run(producer.recall("T", "nonsense"))


def test_delay_levels_and_timers_wait_at_the_broker() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "level", delay_level=1)))
        cluster.run(producer.send(Message("T", "later", delay_millis=4_000)))
        cluster.run(producer.send(Message("T", "latest", deliver_at=cluster.clock.millis() + 8_000)))
        assert cluster.stored("T") == []
        cluster.settle(2.5)
        assert cluster.stored("T") == [b"level"]
        cluster.settle(15.0)
        assert cluster.stored("T") == [b"level", b"later", b"latest"]


def test_a_message_has_the_properties_it_was_given() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(unit_mode=True)
        seen = requests_seen(cluster)
        cluster.run(producer.send(Message("T", "x", tags="A", keys="k", properties={"own": "ü"}, flag=7)))
        header = SendMessageRequestHeaderV2.decode(seen[-1].ext_fields)
        properties = parse_properties(header.properties or "")
        assert (properties["TAGS"], properties["KEYS"], properties["own"]) == ("A", "k", "ü")
        assert (header.flag, header.unit_mode, header.bname, header.batch) == (7, True, "broker-a", False)


def test_the_producer_lives_from_start_to_close() -> None:
    with Cluster() as cluster:
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.settle(2.0)
        assert "Producers" in cluster.broker.clients.producer_groups
        with pytest.raises(NotRunning):
            cluster.run(producer.start())
        cluster.run(producer.close())
        assert "Producers" not in cluster.broker.clients.producer_groups
        with pytest.raises(NotRunning):
            cluster.run(producer.send(Message("T", "y")))


def test_a_group_is_produced_by_one_member_of_a_client() -> None:
    from mqgateway.gateway.client.producer import Producer

    with Cluster() as cluster:
        client = cluster.client()
        first = Producer("G", cluster.around, client=client, **cluster.settings({}))
        cluster.begin(first)
        second = Producer("G", cluster.around, client=client, **cluster.settings({}))
        with pytest.raises(BadArgument, match="already"):
            cluster.run(second.start())


def test_settings_are_checked() -> None:
    with Cluster() as cluster:
        for wrong in ({"send_msg_timeout": 0}, {"send_msg_timeout": "3"}, {"send_mgs_timeout": 3}):
            with pytest.raises(BadArgument):
                cluster.producer(**wrong)
        with pytest.raises(BadArgument):
            cluster.producer("DEFAULT_PRODUCER")
