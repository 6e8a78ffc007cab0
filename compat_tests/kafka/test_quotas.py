"""Quotas of clients: both servers keep them alike, and hold producers and consumers to them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from compat_tests.kafka.support.commands import Commands, check_printed, normalised
from compat_tests.kafka.support.scripts import Script
from compat_tests.kafka.support.servers import KafkaServer, Servers
from compat_tests.kafka.support.wire import (
    BY_NAME,
    CORRELATION_ID,
    Connection,
    answer_of,
    built,
    create_topic,
    framed,
)
from compat_tests.support.peers import Peers
from mqgateway.gateway.kafka.codec.headers import RequestHeader, write_request_header
from mqgateway.gateway.kafka.codec.plans import encode

MEGABYTE = 1 << 20
FREE = 10 * MEGABYTE
"""Bytes that a client may use at once with a quota of a megabyte a second: those of ten seconds."""
RECORD_SIZE = 16_000
RECORDS = 900
SECONDS_LEAST = (RECORDS * RECORD_SIZE - FREE) / MEGABYTE - 1.5
"""Seconds that so many records take at least; some bytes may be on their way when the last second begins."""


LIMITS = re.compile(r"(?m)(?<= are ).*$")


def with_sorted_limits(text: str) -> str:
    """Return normalised output with the limits of an entity in order: Kafka's is that of a hash table."""
    return LIMITS.sub(lambda found: ", ".join(sorted(found[0].split(", "))), normalised(text))


@pytest.fixture
def script(
    request: pytest.FixtureRequest, commands: Commands, server: KafkaServer, name: str
) -> Iterator[Script]:
    """Commands against the server; what they print must be what they print on Apache's."""
    script = Script(commands, server, with_sorted_limits)
    yield script
    writes = server.kind == "apache" and request.config.getoption("--record-apache")
    if script.printed:
        check_printed(request.node.originalname, name, script.printed, writes=writes)


def test_quotas_are_changed_and_described(script: Script, name: str) -> None:
    for entity in (
        ("--entity-type", "clients", "--entity-name", name),
        ("--entity-type", "users", "--entity-name", name),
        ("--entity-type", "users", "--entity-name", name, "--entity-type", "clients", "--entity-default"),
    ):
        rates = "producer_byte_rate=1048576,request_percentage=12.5"
        script.run("configs", *entity, "--alter", "--add-config", rates)
        script.run("configs", *entity, "--describe")
        script.run("configs", *entity, "--alter", "--delete-config", "producer_byte_rate")
        script.run("configs", *entity, "--alter", "--add-config", "producer_byte_rate=0", exit=1)
        script.run("configs", *entity, "--describe")
        script.run("configs", *entity, "--alter", "--delete-config", "request_percentage")
        script.run("configs", *entity, "--describe")
    entity = ("--entity-type", "ips", "--entity-name", "192.0.2.7")
    script.run("configs", *entity, "--alter", "--add-config", "connection_creation_rate=50")
    script.run("configs", *entity, "--describe")
    script.run("configs", *entity, "--alter", "--delete-config", "connection_creation_rate")


def limit(address: str, client_id: str, **limits: float | None) -> None:
    """Set limits of a client id; None removes one."""
    with Connection(address) as connection:
        answer = connection.ask("AlterClientQuotas", 1, entries=[entry({"client-id": client_id}, **limits)])
    assert answer["entries"][0]["error_code"] == 0, answer


def entry(entity: Mapping[str, str | None], **limits: float | None) -> dict[str, Any]:
    """Return changes of an entity."""
    names = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in limits.items()]
    return {"entity": names, "ops": ops}


def throttle_millis(printed: str, metric: str) -> float:
    """Return the largest throttle time that the metrics of a client have."""
    found = re.findall(rf"{metric}-throttle-time-max\S*\s*:\s*([\d.]+)", printed)
    assert found, printed
    return max(map(float, found))


def test_producer_and_consumer_are_held_to_their_rates(
    commands: Commands, server: KafkaServer, name: str
) -> None:
    create_topic(server.address, name)
    limit(server.address, name, producer_byte_rate=MEGABYTE, consumer_byte_rate=MEGABYTE)
    sizes = ("--num-records", str(RECORDS), "--record-size", str(RECORD_SIZE), "--throughput", "-1")
    began = time.monotonic()
    sent = commands.run(
        server.address,
        "producer-perf-test",
        *("--topic", name, "--print-metrics", "--command-property", f"client.id={name}"),
        *sizes,
    )
    assert sent.exit == 0 and time.monotonic() - began > SECONDS_LEAST, sent
    assert throttle_millis(sent.out, "produce") > 0
    began = time.monotonic()
    read = commands.run(
        server.address,
        "consumer-perf-test",
        *("--topic", name, "--print-metrics", "--command-property", f"client.id={name}"),
        *("--num-records", str(RECORDS), "--timeout", "60000"),
    )
    assert read.exit == 0 and time.monotonic() - began > SECONDS_LEAST, read
    assert throttle_millis(read.out, "fetch") > 0


def changes(name: str) -> Iterator[dict[str, Any]]:
    """Changes of quotas, most of them refused."""
    client, address = {"client-id": name}, {"ip": "192.0.2.8"}
    for key, value in (
        ("producer_byte_rate", 1000.0),
        ("producer_byte_rate", 1000.5),
        ("producer_byte_rate", 0.0),
        ("consumer_byte_rate", -1.0),
        ("consumer_byte_rate", float("inf")),
        ("consumer_byte_rate", 1e30),
        ("request_percentage", float("nan")),
        ("request_percentage", 50.5),
        ("controller_mutation_rate", 1.25),
        ("connection_creation_rate", 5.0),
        ("no_such", 5.0),
        ("no_such", None),
        ("", 1.0),
    ):
        yield entry(client, **{key: value})
    yield entry(client)
    yield {**entry(client), "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}] * 2}
    for value in (6.0, 6.5, 0.0, 1e12):
        yield entry(address, connection_creation_rate=value)
    for entity in (
        {},
        {"client-id": ""},
        {"group": name},
        {"": None},
        {"user": name, "client-id": None},
        {"user": name, "client-id": name},
        {"user": name, "ip": None},
        {"ip": ""},
        {"ip": "no such host"},
    ):
        yield entry(entity, consumer_byte_rate=5.0)
    yield entry(address, consumer_byte_rate=1.0)


def filters(name: str) -> Iterator[list[dict[str, Any]]]:
    """Filters of quotas, some of them refused."""
    for components in (
        [("client-id", 0, name)],
        [("user", 0, name)],
        [("user", 0, name), ("client-id", 1, None)],
        [("user", 0, name), ("client-id", 2, None)],
        [("ip", 2, None)],
        [("user", 0, f"{name}-no")],
        [("user", 0, "u"), ("user", 2, None)],
        [("", 0, "u")],
        [("group", 0, "u")],
        [("user", 3, "u")],
        [("user", 0, None)],
        [("user", 1, "x")],
        [("user", 2, "x")],
        [("user", 0, "x"), ("ip", 0, "x")],
    ):
        yield [{"entity_type": kind, "match_type": by, "match": text} for kind, by, text in components]


def comparable(value: Any) -> Any:
    """Return an answer without the order of its lists."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return sorted(map(comparable, value), key=repr)
    return value


@pytest.mark.both_servers
def test_both_servers_answer_requests_about_quotas_alike(servers: Servers, peers: Peers) -> None:
    name = "quotas-of-both"
    asked: list[tuple[str, int, dict[str, Any]]] = [
        ("AlterClientQuotas", version, {"entries": [change], "validate_only": only_check})
        for change in changes(name)
        for version, only_check in ((1, True), (0, False))
    ]
    asked += [
        ("AlterClientQuotas", 1, {"entries": [entry({"user": f"{name}-twice"}, request_percentage=1.5)] * 2})
    ]
    for components in filters(name):
        asked += [("DescribeClientQuotas", 1, {"components": components, "strict": True})]
        asked += [("DescribeClientQuotas", 0, {"components": components, "strict": False})]

    def answers(kind: str) -> list[Any]:
        with Connection(servers.get(kind).address) as connection:
            given = [comparable(connection.ask(*one[:2], **one[2])) for one in asked]
            removed = entry({"ip": "192.0.2.8"}, connection_creation_rate=None)
            connection.ask("AlterClientQuotas", 1, entries=[removed])
        return given

    apaches, ours = peers.transcripts.both(__name__, "requests about quotas", answers)
    assert [one for one in zip(asked, apaches, ours, strict=True) if one[1] != one[2]] == []


class NamedConnection(Connection):
    """A connection with a client id of its own, so that its quotas concern no other scenario."""

    def __init__(self, address: str, client_id: str) -> None:
        super().__init__(address)
        self._client_id = client_id

    def ask(self, name: str, version: int, **fields: Any) -> dict[str, Any]:
        """See `Connection`."""
        api, out = BY_NAME[name], bytearray()
        write_request_header(out, RequestHeader(api.key, version, CORRELATION_ID, self._client_id))
        self.send(framed(bytes(out) + encode(built(api.request, fields), version)))
        return answer_of(name, version, self.receive())


def mutation(connection: Connection, version: int, topic: str, partitions: int) -> tuple[int, int]:
    """Create a topic; returns the error and the throttle time, ms."""
    wanted = {"name": topic, "num_partitions": partitions, "replication_factor": 1}
    answer = connection.ask("CreateTopics", version, topics=[wanted], timeout_ms=20_000)
    return answer["topics"][0]["error_code"], answer["throttle_time_ms"]


def test_partitions_beyond_the_rate_are_refused_or_throttled(server: KafkaServer, name: str) -> None:
    limit(server.address, name, controller_mutation_rate=1.0)
    with NamedConnection(server.address, name) as connection:
        assert mutation(connection, 7, f"{name}-1", 16) == (0, 0)
        began = time.monotonic()
        code, millis = mutation(connection, 7, f"{name}-2", 1)
        assert code == 89 and 0 < millis <= 5000
        code, _ = mutation(connection, 7, f"{name}-2", 1)
        assert code == 0 and time.monotonic() - began >= millis / 1000
        code, millis = mutation(connection, 5, f"{name}-3", 5)
        assert code == 0 and 0 < millis <= 6000
    limit(server.address, name, controller_mutation_rate=None)


def test_requests_of_a_throttled_client_wait(server: KafkaServer, name: str) -> None:
    limit(server.address, name, request_percentage=0.001)
    with NamedConnection(server.address, name) as connection:
        began = time.monotonic()
        times = [connection.ask("Metadata", 9, topics=[])["throttle_time_ms"] for _ in range(3)]
        assert times[0] > 0 and max(times) <= 1000
        assert time.monotonic() - began >= sum(times[:2]) / 1000
    limit(server.address, name, request_percentage=None)
