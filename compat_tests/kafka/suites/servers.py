"""Clusters for Kafka's own tests: a process that starts, kills and stops them as its standard input says.

A request is a line of words between tabs: ``start`` with the number of brokers and settings of Kafka, with
``ID:`` before those of one broker; ``kill`` and ``restart`` with the number of a cluster and the id of a
broker; ``topic`` with the number of a cluster and a name; ``stop`` with the number of a cluster. Each is
answered with a line: ``NUMBER ADDRESS,ADDRESS``, ``done``, the numbers of partitions with a leader that the
running brokers show (``3,3``), ``needs SOMETHING`` if this server lacks it, or ``error TEXT``.

Each broker is a broker group of its own, as members of one group would all have every partition.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from compat_tests.kafka.suites import anonymous
from compat_tests.kafka.support.wire import Connection
from compat_tests.support.processes import wait_until
from mqgateway.gateway.testing import Server

SETTINGS = {
    "auto.create.topics.enable": "autoCreateTopicEnable",
    "broker.rack": "kafkaRack",
    "client.telemetry": "kafkaClientTelemetry",
    "connections.max.idle.ms": "kafkaConnectionsMaxIdleMillis",
    "fetch.max.bytes": "kafkaFetchMaxBytes",
    "group.consumer.assignment.interval.ms": "kafkaGroupConsumerAssignmentIntervalMillis",
    "group.consumer.heartbeat.interval.ms": "kafkaGroupConsumerHeartbeatIntervalMillis",
    "group.consumer.session.timeout.ms": "kafkaGroupConsumerSessionTimeoutMillis",
    "group.initial.rebalance.delay.ms": "kafkaGroupInitialRebalanceDelayMillis",
    "group.max.session.timeout.ms": "kafkaGroupMaxSessionTimeoutMillis",
    "group.max.size": "kafkaGroupMaxSize",
    "group.min.session.timeout.ms": "kafkaGroupMinSessionTimeoutMillis",
    "group.share.assignment.interval.ms": "kafkaGroupShareAssignmentIntervalMillis",
    "group.share.delivery.count.limit": "kafkaGroupShareDeliveryCountLimit",
    "group.share.heartbeat.interval.ms": "kafkaGroupShareHeartbeatIntervalMillis",
    "group.share.max.share.sessions": "kafkaGroupShareMaxShareSessions",
    "group.share.max.size": "kafkaGroupShareMaxSize",
    "group.share.partition.max.record.locks": "kafkaGroupSharePartitionMaxRecordLocks",
    "group.share.record.lock.duration.ms": "kafkaGroupShareRecordLockDurationMillis",
    "group.share.session.timeout.ms": "kafkaGroupShareSessionTimeoutMillis",
    "log.retention.check.interval.ms": "topicRetentionCheckInterval",
    "message.max.bytes": "kafkaMessageMaxBytes",
    "min.insync.replicas": "minInSyncReplicas",
    "num.partitions": "kafkaNumPartitions",
    "offset.metadata.max.bytes": "kafkaOffsetMetadataMaxBytes",
    "offsets.retention.minutes": "kafkaOffsetsRetentionMinutes",
    "producer.id.expiration.ms": "kafkaProducerIdExpirationMillis",
    "socket.request.max.bytes": "kafkaMaxRequestSize",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (
        "kafkaTransactionAbortTimedOutTransactionCleanupIntervalMillis"
    ),
    "transaction.max.timeout.ms": "kafkaTransactionMaxTimeoutMillis",
    "transaction.remove.expired.transaction.cleanup.interval.ms": (
        "kafkaTransactionRemoveExpiredTransactionCleanupIntervalMillis"
    ),
    "transactional.id.expiration.ms": "kafkaTransactionalIdExpirationMillis",
}
"""Settings of Kafka that have a counterpart."""
LIMITS = {"fetch.max.bytes": (1024, 16 * 1024**2), "group.min.session.timeout.ms": (1, 2**31 - 1)}
"""Settings for which this server takes fewer values than Kafka: the least and the greatest."""

COORDINATOR_TOPICS = "__consumer_offsets", "__transaction_state"
KNOWN_SECONDS = 30


class Needed(Exception):
    """Something that this server lacks."""


class Clusters:
    """All clusters of the process, by number."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._running: dict[str, list[Server]] = {}

    def answer(self, verb: str, *words: str) -> str:
        """Return the answer to a request. Raises `Needed`, and any error of a server."""
        if verb == "start":
            brokers = range(int(words[0]))
            servers = started([settings_of(words[1:], broker) for broker in brokers])
            number = str(next(self._numbers))
            self._running[number] = servers
            return f"{number} {','.join(server.kafka_bootstrap_servers for server in servers)}"
        servers = self._running[words[0]]
        if verb == "topic":
            return ",".join(str(number) for number in shown(servers, words[1]))
        if verb == "stop":
            del self._running[words[0]]
            stop(servers)
        else:
            server = servers[int(words[1])]
            {"kill": server.kill, "restart": server.restart}[verb]()
        return "done"


def settings_of(words: Sequence[str], broker: int) -> dict[str, str]:
    """Return the settings of a broker in a request: those of all brokers, and its own."""
    common = dict(word.split("=", 1) for word in words if not word[:1].isdigit())
    own = f"{broker}:"
    return common | dict(word.removeprefix(own).split("=", 1) for word in words if word.startswith(own))


def options(settings: dict[str, str]) -> dict[str, Any]:
    """Return the options for these settings of Kafka; those without a counterpart are left out."""
    protocol = settings.pop("security.protocol")
    if protocol != "PLAINTEXT":
        raise Needed(f"{protocol}")
    if "metric.reporters" in settings:  # by which Kafka's servers receive the metrics of clients
        settings["client.telemetry"] = "true"
    for name, (low, high) in LIMITS.items():  # tests that want no limit set Kafka's least or greatest number
        if name in settings:
            settings[name] = str(min(max(int(settings[name]), low), high))
    known: dict[str, Any] = {SETTINGS[name]: value for name, value in settings.items() if name in SETTINGS}
    if settings.get("authorizer.class.name"):
        known |= anonymous.SETTINGS
    return known


def started(settings: Sequence[dict[str, str]]) -> list[Server]:
    """Return the brokers of a cluster, with the settings of each, once they know each other."""
    brokers = len(settings)
    groups = [f"group-{broker}" for broker in range(brokers)]
    others = {"kafkaClusterGroups": ",".join(groups)} if brokers > 1 else {}
    servers: list[Server] = []
    try:
        for broker, group in enumerate(groups):
            own = options(settings[broker]) | others | {"kafkaNodeId": broker, "brokerName": group}
            servers.append(Server(joins=servers[0] if servers else None, **own).start())
        if brokers > 1:
            for server in servers:
                address = server.kafka_bootstrap_servers
                wait_until(partial(is_complete, address, brokers), KNOWN_SECONDS, f"{address} knows all")
    except BaseException:
        stop(servers)
        raise
    return servers


def stop(servers: Sequence[Server]) -> None:
    """Stop the brokers of a cluster; the first one, which has the name server, is the last."""
    for server in reversed(servers):
        server.stop()


def is_complete(address: str, brokers: int) -> bool:
    """Return True once a broker shows that many nodes, and that each coordinates keys."""
    return led(address, COORDINATOR_TOPICS) == (brokers, brokers * len(COORDINATOR_TOPICS))


def shown(servers: Sequence[Server], topic: str) -> Iterator[int]:
    """Yield the number of a topic's partitions with a leader that each broker shows, if it is running."""
    for server in servers:
        with suppress(ConnectionRefusedError):
            _, partitions = led(server.kafka_bootstrap_servers, [topic])
            yield partitions


def led(address: str, topics: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of nodes, and of the topics' partitions with a leader, that a broker shows."""
    names = [{"name": name} for name in topics]
    with Connection(address) as connection:
        found = connection.ask("Metadata", 8, topics=names, allow_auto_topic_creation=False)
    partitions = [one for topic in found["topics"] for one in topic["partitions"]]
    return len(found["brokers"]), sum(one["leader_id"] >= 0 for one in partitions)


def main() -> None:
    """Answer requests until there are no more."""
    anonymous.admit()
    clusters = Clusters()
    for line in sys.stdin:
        try:
            answer = clusters.answer(*line.rstrip("\n").split("\t"))
        except Needed as missing:
            answer = f"needs {missing}"
        except Exception as error:
            answer = "error " + " ".join(str(error).split())
        print(answer, flush=True)


if __name__ == "__main__":
    main()
