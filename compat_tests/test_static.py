"""Static topics over three brokers of either kind: queues move, and producers and consumers see one queue.

The same commands and messages in the same order on both: the answers to clients, operators and raw requests
are equal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import ClientError, Driver, Producer, PushConsumer, Queue, message
from compat_tests.support.mqadmin import Mqadmin, normalised
from compat_tests.support.peers import Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, Part, apache_broker, apache_namesrv, our_broker, our_namesrv
from mqgateway.gateway.codec import lenient_json
from mqgateway.gateway.codec.codes import RequestCode

BROKERS = ("broker-a", "broker-b", "broker-c")
TOPIC, GROUP, LATE_GROUP = "StaticOrders", "StaticReaders", "StaticLateReaders"
QUEUES, ENLARGED, TURNS, EACH = 2, 4, ("", "broker-b", "broker-c", "broker-a"), 5
EVERYWHERE = "__syslo__global__"
"""Name of the broker of static topics in clients."""
LOGICAL = {"topic": TOPIC, "queueId": "0"}
PULL = {
    "maxMsgNums": "32",
    "sysFlag": "4",
    "commitOffset": "0",
    "suspendTimeoutMillis": "0",
    "subscription": "*",
    "subVersion": "1",
}

TRIES = 3


class Cluster(NamedTuple):
    """A name server, and three brokers by name, each with a folder of its own."""

    folder: Path
    namesrv: str
    brokers: dict[str, str]


@contextmanager
def started(kind: str, folder: Path) -> Iterator[Cluster]:
    """Run the servers."""
    port = free_ports()
    cluster = Cluster(folder, f"{HOST}:{port}", {})
    start_namesrv, make = (apache_namesrv, apache_broker) if kind == "apache" else (our_namesrv, our_broker)
    parts: list[Part] = [start_namesrv(folder / "namesrv", port)]
    for name in BROKERS:
        port = free_ports((-2, 0, 1))
        cluster.brokers[name] = f"{HOST}:{port}"
        parts.append(make(folder / name, port, cluster.namesrv, {"brokerName": name}))
    with ExitStack() as stack:
        for part in parts:
            part.start()
            stack.callback(part.kill9)
        yield cluster


class ToolTimedOut(Exception):
    """A command whose tool did not wait for the server; it may be half done."""


class Scenario:
    """One run; `outcomes` is the transcript to compare."""

    def __init__(self, cluster: Cluster, driver: Driver, admin: Mqadmin) -> None:
        self.cluster = cluster
        self.driver = driver
        self._admin = admin
        self.outcomes: list[Any] = []

    def run(self) -> None:
        """Send, move, read, and query."""
        self._prepare()
        for turn, broker in enumerate(TURNS):
            if broker:
                self._command("remappingStaticTopic", "-t", TOPIC, "-b", broker)
            leader = broker or BROKERS[0]
            wait_until(partial(self._is_led_by, leader), 30, f"the route names {leader}")
            self._send(turn)
            self._read(GROUP, EACH * QUEUES, leader)
            self._look()
        self._read(LATE_GROUP, EACH * QUEUES * len(TURNS), TURNS[-1])
        self._command("topicStatus", "-t", TOPIC)
        self._command("consumerProgress", "-g", LATE_GROUP)
        self._command("updateStaticTopic", "-t", TOPIC, "-b", "broker-a", "-qn", str(ENLARGED))
        self._look_at_files()
        self._pull_by_hand()
        self._refuse()
        self._go_back()

    def _prepare(self) -> None:
        def seen() -> bool:
            listed = self._admin.run("clusterList", "-n", self.cluster.namesrv).out
            return all(name in listed for name in BROKERS)

        wait_until(seen, 40, "all brokers have registered")
        self._command("updateStaticTopic", "-t", TOPIC, "-b", "broker-a", "-qn", str(QUEUES))

    def _command(self, *command: str) -> None:
        output = self._admin.run_once(*command, "-n", self.cluster.namesrv)
        if output.timed_out:
            raise ToolTimedOut(f"{' '.join(command)}:\n{output.err}")
        self.outcomes.append((command, normalised(output.out), output.exit))

    def _is_led_by(self, broker: str) -> bool:
        return self._leaders() == {broker}

    def _leaders(self) -> set[str]:
        """Return the brokers that lead queues of the topic, by the route that clients get.

        Brokers register a moved queue after the command has ended. A producer with the older route sends to
        the earlier leader, which answers 501.
        """
        with RawConnection(self.cluster.namesrv) as connection:
            answer = connection.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC})
        assert answer is not None
        if answer.code != 0:
            return set()
        mappings = lenient_json.loads(answer.body)["topicQueueMappingByBroker"].values()
        newest: dict[str, tuple[int, str]] = {}
        for mapping in mappings:
            for queue in mapping["currIdMap"]:
                newest[queue] = max(newest.get(queue, (0, "")), (mapping["epoch"], mapping["bname"]))
        return {name for _, name in newest.values()} if len(newest) == QUEUES else set()

    def _send(self, turn: int) -> None:
        """Send to each queue, by a producer that has no route of the topic yet."""
        with Producer(self.driver, self.cluster.namesrv, f"StaticSenders{turn}") as producer:
            wanted = [Queue(TOPIC, EVERYWHERE, number) for number in range(QUEUES)]
            wait_until(lambda: self._queues(producer) == wanted, 30, "the topic has a route")
            for queue in wanted:
                bodies = [f"{turn}-{queue.queue_id}-{number}" for number in range(EACH)]
                results = producer.send_to(queue, [message(TOPIC, body) for body in bodies])
                self.outcomes.append([(one.status, one.queue, one.queue_offset) for one in results])

    def _queues(self, producer: Producer) -> list[Queue]:
        try:
            return sorted(producer.queues(TOPIC))
        except ClientError:
            return []

    def _read(self, group: str, count: int, leader: str) -> None:
        """Record the unread messages of a group, of each queue in order of arrival."""
        options = {
            "subscriptions": {TOPIC: "*"},
            "listener": "ordered",
            "model": "CLUSTERING",
            "from": "CONSUME_FROM_FIRST_OFFSET",
        }
        with PushConsumer(self.driver, self.cluster.namesrv, group, **options) as consumer:
            found = consumer.collect(count)
        for number in range(QUEUES):
            of_queue = [one for one in found if one.queue_id == number]
            self.outcomes.append([(one.broker_name, one.queue_offset, one.body) for one in of_queue])
        ends = {one.queue_id: one.queue_offset + 1 for one in found}
        wait_until(lambda: self._offsets(group, leader) == ends, 30, f"{leader} has the offsets of {group}")

    def _offsets(self, group: str, broker: str) -> dict[int, int]:
        """Return the committed offset of each queue; a consumer that closes commits without an answer."""
        offsets = {}
        with RawConnection(self.cluster.brokers[broker]) as connection:
            for number in range(QUEUES):
                position = {"topic": TOPIC, "queueId": str(number), "consumerGroup": group}
                answer = connection.ask(RequestCode.QUERY_CONSUMER_OFFSET, position)
                assert answer is not None
                offsets[number] = int(answer.ext_fields.get("offset", "-1"))
        return offsets

    def _look(self) -> None:
        """Record both offsets, the group's offset, and the mapping, as every broker reports them."""
        position = LOGICAL | {"consumerGroup": GROUP, "setZeroIfNotFound": "false"}
        for address in self.cluster.brokers.values():
            with RawConnection(address) as connection:
                for code, fields in (
                    (RequestCode.GET_MIN_OFFSET, LOGICAL),
                    (RequestCode.GET_MAX_OFFSET, LOGICAL),
                    (RequestCode.QUERY_CONSUMER_OFFSET, position),
                ):
                    answer = connection.ask(code, fields)
                    assert answer is not None
                    remark = answer.remark or None  # Apache's broker sends "" for an empty remark
                    self.outcomes.append((code, answer.code, remark, answer.ext_fields.get("offset")))
                answer = connection.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": TOPIC, "lo": "true"})
                assert answer is not None
                self.outcomes.append(_without_times(json.loads(_strict(answer.body))))

    def _look_at_files(self) -> None:
        """Record the mappings on disk; the broker of an added queue is left to chance."""
        for name in self.cluster.brokers:
            path = self.cluster.folder / name / "store" / "config" / "topicQueueMapping.json"
            wait_until(partial(_has_enlarged, path), 30, f"{name} has written its mappings")
            whole = json.loads(_strict(path.read_bytes()))
            kept = _without_times({"mappingDetail": whole["topicQueueMappingInfoMap"][TOPIC]})
            hosted = kept["mappingDetail"]["hostedQueues"]
            kept["mappingDetail"]["hostedQueues"] = {
                queue: hosted[queue] for queue in ("0", "1") if queue in hosted
            }
            self.outcomes.append((sorted(whole), whole["dataVersion"]["counter"], kept))

    def _pull_by_hand(self) -> None:
        """Record the answers to pulls at the boundaries of mapping items, from the leading broker."""
        with RawConnection(self.cluster.brokers[TURNS[-1]]) as connection:
            for offset in (-1, 0, 4, 5, 9_999, 10_000, 10_005, 25_000, 30_000, 30_004, 30_005, 30_006):
                fields = PULL | LOGICAL | {"consumerGroup": LATE_GROUP, "queueOffset": str(offset)}
                answer = connection.ask(RequestCode.PULL_MESSAGE, fields)
                assert answer is not None
                names = ("nextBeginOffset", "minOffset", "maxOffset", "offsetDelta")
                values = [answer.ext_fields.get(name) for name in names]
                self.outcomes.append((offset, answer.code, values, len(answer.body)))

    def _refuse(self) -> None:
        """Record the answers about queues that another broker leads, or none."""
        with RawConnection(self.cluster.brokers["broker-b"]) as connection:
            for queue_id in ("0", "9", "-1"):
                place = {"topic": TOPIC, "queueId": queue_id, "consumerGroup": GROUP}
                send = {"a": "P", "b": TOPIC, "c": "TBW102", "d": "4", "e": queue_id, "f": "0", "g": "1"}
                asked = [
                    (RequestCode.GET_MIN_OFFSET, place),
                    (RequestCode.GET_MAX_OFFSET, place),
                    (RequestCode.GET_EARLIEST_MSG_STORETIME, place),
                    (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, place | {"timestamp": "1"}),
                    (RequestCode.QUERY_CONSUMER_OFFSET, place),
                    (RequestCode.UPDATE_CONSUMER_OFFSET, place | {"commitOffset": "1"}),
                    (RequestCode.PULL_MESSAGE, PULL | place | {"queueOffset": "0"}),
                ]
                if queue_id != "-1":  # ours then chooses a queue that it leads, Apache's broker any
                    asked.append((RequestCode.SEND_MESSAGE_V2, send | {"h": "0", "m": "false"}))
                for code, fields in asked:
                    answer = connection.ask(code, fields, b"x")
                    assert answer is not None
                    self.outcomes.append((code, queue_id, answer.code, answer.remark))

    def _go_back(self) -> None:
        """Record the answer to a mapping that is older than the current one."""
        fields = {"topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "9", "writeQueueNums": "9"}
        fields |= {"perm": "6", "topicFilterType": "SINGLE_TAG", "order": "false"}
        mapping = {"topic": TOPIC, "bname": "broker-b", "epoch": 1, "totalQueues": 2, "hostedQueues": {}}
        with RawConnection(self.cluster.brokers["broker-b"]) as connection:
            code = RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC
            answer = connection.ask(code, fields, json.dumps(mapping).encode())
        assert answer is not None
        self.outcomes.append((answer.code, (answer.remark or "").partition("<")[0]))


def _has_enlarged(path: Path) -> bool:
    """Return True if a broker's file has the added queues; there is none while the broker replaces it."""
    try:
        whole = json.loads(_strict(path.read_bytes()))
    except FileNotFoundError:
        return False
    return bool(whole["topicQueueMappingInfoMap"][TOPIC]["totalQueues"] == ENLARGED)


def _strict(body: bytes) -> bytes:
    """Return RocketMQ's JSON with its bare keys in quotes."""
    return lenient_json.dumps(lenient_json.loads(body), bare_keys=False)


def _without_times(shape: dict[str, Any]) -> dict[str, Any]:
    mapping = dict(shape.get("mappingDetail") or {})
    mapping.pop("epoch", None)
    return shape | {"mappingDetail": mapping}


def transcript(peers: Peers, kind: str) -> list[Any]:
    """Return all answers of a cluster of a kind; the scenario is repeated after a time-out of the tool."""
    for _ in range(TRIES - 1):
        with suppress(ToolTimedOut):
            return _transcript(peers, kind)
    return _transcript(peers, kind)


def _transcript(peers: Peers, kind: str) -> list[Any]:
    with ExitStack() as stack:
        cluster = stack.enter_context(started(kind, peers.work / f"static-{kind}-{time.time_ns()}"))
        admin = Mqadmin(peers.runtime)
        stack.callback(admin.close)
        scenario = Scenario(cluster, peers.driver(CURRENT), admin)
        scenario.run()
    return scenario.outcomes


@pytest.mark.overlap
@pytest.mark.both_servers
@pytest.mark.timeout(600)
def test_queues_that_move_are_the_same(peers: Peers) -> None:
    """The transcripts of both kinds are equal."""
    apache, ours = peers.transcripts.both(__name__, "queues that move", lambda kind: transcript(peers, kind))
    assert ours == apache
