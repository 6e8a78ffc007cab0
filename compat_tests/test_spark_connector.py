"""Requests of Spark's stock connector (rocketmq-spark) to name server and broker, field by field.

It contains the client 4.9.4, makes a new group for every query and run, and does no administration. With
ROCKETMQ_SPARK_JAR, the connector's own jar with all its dependencies, and SPARK_HOME, a Spark that it was
built for, the connector itself reads and writes a topic.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from mqgateway.engine.message import format_properties
from mqgateway.engine.store.record import decode
from mqgateway.gateway.codec.bodies import (
    ConsumerData,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
    TopicRouteData,
)
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand

GROUPS = 100
JAR = os.environ.get("ROCKETMQ_SPARK_JAR", "")

SINK = {"a": "spark-rocketmq-sink-1", "c": "TBW102", "d": "4", "f": "0", "h": "0", "j": "0"}
"""The sink's send, without topic, queue, time and properties."""
PULL = {
    "maxMsgNums": "32",
    "sysFlag": "4",
    "commitOffset": "0",
    "suspendTimeoutMillis": "20000",
    "subVersion": "0",
    "expressionType": "TAG",
}
"""A task's pull, without group, queue, offset and tags."""


class Connector:
    """The connector's connections to one server."""

    def __init__(self, namesrv: str, broker: str) -> None:
        self._namesrv, self._broker = RawConnection(namesrv), RawConnection(broker)

    def close(self) -> None:
        self._namesrv.close()
        self._broker.close()

    def __enter__(self) -> Connector:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def route(self, topic: str) -> TopicRouteData | None:
        """Send request 105."""
        answer = self._namesrv.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        assert answer is not None
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        assert answer.code == 0, answer.remark
        return TopicRouteData.decode(answer.body)

    def ask(self, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"") -> RemotingCommand:
        """Send any request to the broker."""
        answer = self._broker.ask(code, fields, body)
        assert answer is not None
        return answer

    def send(self, topic: str, body: str, tags: str, queue_id: int = 0) -> RemotingCommand:
        """Send request 310, one for each row."""
        now = str(int(time.time() * 1000))
        properties = format_properties(
            {"UNIQ_KEY": os.urandom(16).hex().upper(), "WAIT": "true", "TAGS": tags}
        )
        fields = {
            **SINK,
            "b": topic,
            "e": str(queue_id),
            "g": now,
            "i": properties,
            "k": "false",
            "m": "false",
        }
        return self.ask(RequestCode.SEND_MESSAGE_V2, fields, body.encode())

    def offset(self, code: int, topic: str, queue_id: int = 0) -> int:
        """Send request 30 or 31."""
        answer = self.ask(code, {"topic": topic, "queueId": str(queue_id)})
        assert answer.code == 0, answer.remark
        return int(answer.ext_fields["offset"])

    def pull(self, group: str, topic: str, offset: int, tags: str = "*") -> RemotingCommand:
        """Send request 11."""
        where = {"consumerGroup": group, "topic": topic, "queueId": "0", "queueOffset": str(offset)}
        return self.ask(RequestCode.PULL_MESSAGE, {**PULL, **where, "subscription": tags})

    def join(self, client_id: str, group: str) -> None:
        """Send request 34."""
        everything = SubscriptionData(topic="%RETRY%" + group, sub_string="*")
        consumer = ConsumerData(
            group, "CONSUME_ACTIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET", [everything]
        )
        data = HeartbeatData(client_id, [ProducerData("CLIENT_INNER_PRODUCER")], [consumer])
        assert self.ask(RequestCode.HEART_BEAT, body=data.encode()).code == 0

    def leave(self, client_id: str, group: str) -> None:
        """Send request 35, twice as the client does."""
        for field, name in (("consumerGroup", group), ("producerGroup", "CLIENT_INNER_PRODUCER")):
            assert self.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": client_id, field: name}).code == 0


@pytest.fixture
def connector(peers: Peers, kind: str) -> Any:
    """Run the connector with a server of one kind."""
    server = peers.server(kind)
    with Connector(server.namesrv_address, server.broker_address) as connector:
        yield connector


def filled(connector: Connector, what: str, tags: str = "A") -> str:
    """Return a topic that the sink creates by sending: first unknown, then by the route of TBW102."""
    topic = f"SPK_{what}_{time.time_ns()}"
    assert connector.route(topic) is None
    wait_until(lambda: connector.route("TBW102"), 30, "the broker has registered")
    assert connector.send(topic, "0", tags).code == 0
    wait_until(lambda: connector.route(topic), 30, "the topic has a route")
    for number in range(1, 20):
        assert connector.send(topic, str(number), tags).code == 0
    wait_until(lambda: connector.offset(RequestCode.GET_MAX_OFFSET, topic) == 20, 10, "all can be read")
    return topic


def test_the_sink_makes_its_topic(connector: Connector) -> None:
    """The route of the new topic has an address to connect to."""
    route = connector.route(filled(connector, "sink"))
    assert route is not None
    [queues] = route.queue_datas
    assert (queues.read_queue_nums, queues.write_queue_nums) == (4, 4)
    assert route.broker_datas[0].broker_addrs[0].startswith("127.0.0.1:")


def test_requests_of_driver_and_tasks(connector: Connector) -> None:
    """Offsets, then pulls of an unknown group: found, no match, and end of the queue."""
    topic = filled(connector, "read")
    assert connector.offset(RequestCode.GET_MIN_OFFSET, topic) == 0
    assert connector.offset(RequestCode.GET_MAX_OFFSET, topic, 3) == 0
    group = f"spark-rocketmq-relation-{time.time_ns()}-executor"
    found = connector.pull(group, topic, 0)
    fields = found.ext_fields
    assert found.code == ResponseCode.SUCCESS
    assert (fields["nextBeginOffset"], fields["minOffset"], fields["maxOffset"]) == ("20", "0", "20")
    assert fields["suggestWhichBrokerId"] == "0"
    first = decode(found.body)
    assert (first.queue_offset, first.body, first.properties["TAGS"]) == (0, b"0", "A")
    other = connector.pull(group, topic, 0, "OTHER")
    assert other.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert other.ext_fields["nextBeginOffset"] == "20"
    assert connector.pull(group, topic, 20).code == ResponseCode.PULL_NOT_FOUND


def test_offsets_of_a_fresh_group(connector: Connector) -> None:
    """A stream of the older kind queries its offset (0 while no message is deleted) and commits it."""
    topic, group = filled(connector, "dstream"), f"spark-dstream-{time.time_ns()}"
    connector.join("127.0.0.1@spark-stream", group)
    fields = {"consumerGroup": group, "topic": topic, "queueId": "0"}
    fresh = connector.ask(RequestCode.QUERY_CONSUMER_OFFSET, fields)
    assert (fresh.code, fresh.ext_fields.get("offset")) == (0, "0")
    assert connector.ask(RequestCode.UPDATE_CONSUMER_OFFSET, {**fields, "commitOffset": "20"}).code == 0
    assert connector.ask(RequestCode.QUERY_CONSUMER_OFFSET, fields).ext_fields["offset"] == "20"
    connector.leave("127.0.0.1@spark-stream", group)


def test_groups_by_the_hundred_are_forgotten(connector: Connector) -> None:
    """Each query has a group of its own, used once: no member of any remains."""
    topic = filled(connector, "groups")
    groups = [f"spark-rocketmq-source-{time.time_ns()}-{number}" for number in range(GROUPS)]
    for number, group in enumerate(groups):
        connector.join(f"127.0.0.1@spark-{number}", group)
        assert connector.pull(group, topic, 0).code == 0
    members = connector.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": groups[0]})
    assert json.loads(members.body) == {"consumerIdList": ["127.0.0.1@spark-0"]}
    for number, group in enumerate(groups):
        connector.leave(f"127.0.0.1@spark-{number}", group)
    for group in groups:
        left = connector.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
        assert left.code == ResponseCode.SYSTEM_ERROR and not left.body


if JAR:

    def test_the_connector_itself(peers: Peers, kind: str, tmp_path: Path) -> None:
        """The connector's jar on a Spark of its own writes a topic and reads it."""
        server = peers.server(kind)
        script = tmp_path / "run.scala"
        script.write_text(
            f"""
            import spark.implicits._
            val name = "org.apache.spark.sql.rocketmq.RocketMQSourceProvider"
            val to = Map("nameServer" -> "{server.namesrv_address}", "topic" -> "SPK_jar")
            (1 to 100).map(_.toString).toDF("body").write.format(name).options(to).mode("append").save()
            Thread.sleep(2000)
            println("READ " + spark.read.format(name).options(to).load().count())
            System.exit(0)
            """
        )
        shell = Path(os.environ["SPARK_HOME"]) / "bin" / "spark-shell"
        command = [str(shell), "--master", "local[2]", "--jars", JAR, "-i", str(script)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert "READ 100" in done.stdout, done.stdout + done.stderr
