"""Servers for Kafka's own tests: a process that starts, kills and stops them as its standard input says.

A request is a line of words between tabs: ``start`` with settings of Kafka; ``kill``, ``restart`` and
``stop`` with the number of a server. Each is answered with a line: ``NUMBER ADDRESS``, ``done``,
``needs SOMETHING`` if this server lacks it, or ``error TEXT``.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from compat_tests.kafka.suites import anonymous
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


class Needed(Exception):
    """Something that this server lacks."""


class Servers:
    """All servers of the process, by number."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._running: dict[str, Server] = {}

    def answer(self, verb: str, *words: str) -> str:
        """Return the answer to a request. Raises `Needed`, and any error of a server."""
        if verb == "start":
            number, server = str(next(self._numbers)), started(dict(word.split("=", 1) for word in words))
            self._running[number] = server
            return f"{number} {server.kafka_bootstrap_servers}"
        server = self._running[words[0]]
        if verb == "stop":
            del self._running[words[0]]
        {"kill": server.kill, "restart": server.restart, "stop": server.stop}[verb]()
        return "done"


def started(settings: dict[str, str]) -> Server:
    """Return a server with these settings of Kafka; those without a counterpart are left out."""
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
    return Server(kafkaNodeId=0, **known).start()


def main() -> None:
    """Answer requests until there are no more."""
    anonymous.admit()
    servers = Servers()
    for line in sys.stdin:
        try:
            answer = servers.answer(*line.rstrip("\n").split("\t"))
        except Needed as missing:
            answer = f"needs {missing}"
        except Exception as error:
            answer = "error " + " ".join(str(error).split())
        print(answer, flush=True)


if __name__ == "__main__":
    main()
