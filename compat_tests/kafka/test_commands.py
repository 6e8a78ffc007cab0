"""Kafka's own commands, run on both servers; what they print is the same but for ids, times and addresses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.kafka.support.commands import Commands, check_printed, normalised
from compat_tests.kafka.support.scripts import Script
from compat_tests.kafka.support.servers import KafkaServer


@pytest.fixture
def script(
    request: pytest.FixtureRequest, commands: Commands, server: KafkaServer, name: str
) -> Iterator[Script]:
    """Commands against the server; what they print must be what they print on Apache's.

    A run with `--record-apache` writes that down.
    """
    script = Script(commands, server)
    yield script
    writes = server.kind == "apache" and request.config.getoption("--record-apache")
    if script.printed:
        check_printed(request.node.originalname, name, script.printed, writes=writes)


def test_topics_are_created_listed_described_altered_and_deleted(script: Script, name: str) -> None:
    created = ("--create", "--topic", name, "--partitions", "3", "--replication-factor", "1")
    script.run("topics", *created, "--config", "retention.ms=3600000")
    script.run("topics", *created, exit=1)
    script.run("topics", *created, "--if-not-exists")
    assert name in script.run("topics", "--list", "--exclude-internal").splitlines()
    script.printed.pop()
    described = script.run("topics", "--describe", "--topic", name)
    assert (
        "PartitionCount: 3 ReplicationFactor: 1 Configs:" in described and "retention.ms=3600000" in described
    )
    script.printed.pop()  # which other settings a broker has by default is its own
    script.run("topics", "--alter", "--topic", name, "--partitions", "5")
    script.run("topics", "--alter", "--topic", name, "--partitions", "2", exit=1)
    assert "PartitionCount: 5" in script.run("topics", "--describe", "--topic", name)
    script.printed.pop()
    script.run("topics", "--delete", "--topic", name)
    script.run("topics", "--describe", "--topic", name, exit=1)
    script.run("topics", "--create", "--topic", "not a name", exit=1)
    script.run("topics", "--create", "--topic", f"{name}-b", "--replication-factor", "3", exit=1)
    script.run("topics", "--create", "--topic", f"{name}-c", "--config", "no.such=1", exit=1)


def produced(script: Script, name: str, partitions: int = 1) -> None:
    """Create a topic and send six records with keys to it, by commands."""
    script.run("topics", "--create", "--topic", name, "--partitions", str(partitions))
    lines = "".join(f"key-{number}:value-{number}\n" for number in range(6))
    options = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    script.run("console-producer", "--topic", name, *options, text=lines)


def consumed(script: Script, name: str, *options: str, count: int = 6) -> str:
    """Read records with the console's consumer."""
    limits = ("--max-messages", str(count), "--timeout-ms", "20000")
    return script.run("console-consumer", "--topic", name, *limits, *options)


def test_console_programs_send_and_read(script: Script, name: str) -> None:
    produced(script, name)
    shown = [f"--formatter-property=print.{what}=true" for what in ("key", "offset", "partition", "headers")]
    assert "key-0 value-0" in consumed(script, name, "--from-beginning", *shown)
    consumed(script, name, "--partition", "0", "--offset", "4", count=2)


def test_groups_are_listed_described_reset_and_deleted(script: Script, name: str) -> None:
    check_that_groups_are_listed_described_reset_and_deleted(script, name)


def test_consumer_groups_are_listed_described_reset_and_deleted(script: Script, name: str) -> None:
    check_that_groups_are_listed_described_reset_and_deleted(
        script, name, "--command-property", "group.protocol=consumer"
    )


def check_that_groups_are_listed_described_reset_and_deleted(
    script: Script, name: str, *options: str
) -> None:
    """Do everything with a group whose only member has gone; it joined with these options."""
    group = f"{name}-group"
    produced(script, name)
    consumed(script, name, "--group", group, "--from-beginning", *options, count=4)
    assert group in script.run("consumer-groups", "--list")
    script.printed.pop()
    described = script.run("consumer-groups", "--describe", "--group", group)
    assert f"{group} {name} 0 4 6 2" in described
    for more in ("--state", "--members", "--offsets"):
        script.run("consumer-groups", "--describe", "--group", group, more)
    reset = ("--reset-offsets", "--group", group, "--topic", name)
    script.run("consumer-groups", *reset, "--to-earliest", "--dry-run")
    for how in (("--to-earliest",), ("--to-latest",), ("--shift-by", "-2"), ("--to-offset", "1")):
        script.run("consumer-groups", *reset, *how, "--execute")
    assert f"{group} {name} 0 1 6 5" in script.run("consumer-groups", "--describe", "--group", group)
    script.run("consumer-groups", "--delete-offsets", "--group", group, "--topic", name)
    script.run("consumer-groups", "--delete", "--group", group)
    script.run("consumer-groups", "--describe", "--group", group)
    script.run("consumer-groups", "--delete", "--group", group)


def test_settings_of_topics_are_changed(script: Script, name: str) -> None:
    script.run("topics", "--create", "--topic", name)
    entity = ("--entity-type", "topics", "--entity-name", name)
    script.run("configs", *entity, "--describe")
    script.run("configs", *entity, "--alter", "--add-config", "retention.ms=1000000,cleanup.policy=compact")
    script.run("configs", *entity, "--describe")
    script.run("configs", *entity, "--alter", "--delete-config", "retention.ms")
    script.run("configs", *entity, "--describe")
    script.run("configs", *entity, "--alter", "--add-config", "retention.ms=much", exit=1)
    script.run("configs", *entity, "--alter", "--delete-config", "retention.bytes")


def test_offsets_are_printed(script: Script, name: str) -> None:
    produced(script, name)
    for when in ("-1", "-2", "0", "latest", "earliest"):
        script.run("get-offsets", "--topic", name, "--time", when)
    script.run("get-offsets", "--topic-partitions", f"{name}:0")
    script.run("get-offsets", "--topic", name, "--partitions", "0,1")
    script.run("get-offsets", "--topic", f"{name}-b", exit=1)


def test_log_folders_are_described(script: Script, name: str) -> None:
    produced(script, name)  # the order of several partitions would depend on the topic's name
    described = script.run("log-dirs", "--describe", "--topic-list", name)
    assert f'"partition":"{name}-0"' in described


def test_settings_of_brokers_are_described(script: Script) -> None:
    broker = ("--entity-type", "brokers", "--entity-name")
    script.run("configs", *broker, "1", "--describe")
    shown = script.run("configs", *broker, "1", "--describe", "--all")
    assert "auto.create.topics.enable=true" in shown
    script.printed.pop()  # the values are the broker's own
    script.run("configs", *broker, "one", "--describe", exit=1)


def test_measurements_count_all_records(script: Script, name: str) -> None:
    script.run("topics", "--create", "--topic", name, "--partitions", "2")
    sizes = ("--num-records", "5000", "--record-size", "100", "--throughput", "-1")
    sent = script.run("producer-perf-test", "--topic", name, *sizes).splitlines()[-1]
    assert sent.startswith("5000 records sent, ")
    read = script.run("consumer-perf-test", "--topic", name, "--num-records", "5000", "--timeout", "20000")
    assert float(read.splitlines()[-1].split(",")[4]) >= 5000
    script.printed[1:] = [f"producer: {without_figures(sent)}", f"consumer: {without_figures(read)}"]


def without_figures(text: str) -> str:
    """Return a text with `N` for each number."""
    return re.sub(r"-?\b\d+(?:\.\d+)?\b|\bNaN\b|\bInfinity\b", "N", text)


def test_verifiable_programs_agree(
    script: Script, commands: Commands, server: KafkaServer, name: str
) -> None:
    script.run("topics", "--create", "--topic", name)
    limit = ("--topic", name, "--max-messages", "200")
    sent = events(commands.run_apart(server.address, "verifiable-producer", *limit))
    assert [one["name"] for one in sent].count("producer_send_success") == 200, sent[-3:]
    group = ("--group-id", f"{name}-group", "--reset-policy", "earliest")
    read = events(commands.run_apart(server.address, "verifiable-consumer", *limit, *group))
    assert sum(one["count"] for one in read if one["name"] == "records_consumed") == 200, read
    for program in (sent, read):
        script.printed += sorted({f"{one['name']}: {', '.join(sorted(one))}" for one in program})


def events(printed: str) -> list[dict[str, Any]]:
    """Return the output of a verifiable program, a JSON object a line."""
    return [json.loads(line) for line in printed.splitlines()]


def test_broker_announces_its_versions(commands: Commands, server: KafkaServer) -> None:
    said = normalised(commands.run(server.address, "broker-api-versions").out)
    assert said.startswith("ADDRESS (id: NODE rack: null isFenced: false) -> (")
    for line in ("Produce(0): 0 to 13 [usable: 13]", "Fetch(1): 4 to 18 [usable: 18]"):
        assert line in said
    assert "InitProducerId(22): 0 to 5 [usable: 5]" in said


def test_delete_records_moves_the_start_of_partitions(script: Script, name: str, work: Path) -> None:
    produced(script, name)
    script.run("topics", "--create", "--topic", f"{name}-c", "--config", "cleanup.policy=compact")

    def delete(*wanted: tuple[str, int, int], exit: int = 0) -> str:
        rows = [{"topic": topic, "partition": number, "offset": offset} for topic, number, offset in wanted]
        file = work / f"{name}.json"  # the commands may run in a container, which has this folder
        file.write_text(json.dumps({"partitions": rows, "version": 1}))
        return script.run("delete-records", "--offset-json-file", str(file), exit=exit)

    assert f"partition: {name}-0 low_watermark: 2" in delete((name, 0, 2))
    assert f"partition: {name}-0 low_watermark: 2" in delete((name, 0, 1))
    assert "value-0" not in consumed(script, name, "--from-beginning", count=4)
    script.run("get-offsets", "--topic", name, "--time", "-2")
    delete((name, 0, 7))
    delete((f"{name}-c", 0, 0))
    assert f"partition: {name}-0 low_watermark: 6" in delete((name, 0, -1))
    script.run("get-offsets", "--topic", name, "--time", "-2")
    delete((name, 0, 6), (name, 0, 6), exit=1)
