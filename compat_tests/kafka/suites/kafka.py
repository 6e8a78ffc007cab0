"""Kafka's own integration tests of clients, commands, requests, Streams and Connect, from its test jars.

Classes of ours take the place of those that start Kafka's servers (`frameworks/tests`); its tests start
and stop servers of this project, in memory, in one process (`servers`). Tests that look into Kafka's servers
skip themselves. The versions are those of the jars, as no later ones are published.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from compat_tests.kafka.suites import servers
from compat_tests.kafka.suites.outcomes import FAILED, LEFT, PASSED, SKIPPED, Expected
from compat_tests.kafka.support.frameworks import JVM, LOGGING, java_program

NAME = "kafka"
CLASS_SECONDS = 1200
CLIENTS, CONSUMER = "org.apache.kafka.clients", "org.apache.kafka.clients.consumer"
TOOLS = "org.apache.kafka.tools"
GROUPS = f"{TOOLS}.consumer.group"
SERVER = "kafka.server"
STREAMS = "org.apache.kafka.streams.integration"
CONNECT = "org.apache.kafka.connect"
CLASSES = (
    f"{SERVER}.AddPartitionsToTxnRequestServerTest",
    f"{SERVER}.ApiVersionsRequestTest",
    f"{SERVER}.ConsumerGroupDescribeRequestTest",
    f"{SERVER}.ConsumerGroupHeartbeatRequestTest",
    f"{SERVER}.ConsumerProtocolMigrationTest",
    f"{SERVER}.CreateTopicsRequestTest",
    f"{SERVER}.DeleteGroupsRequestTest",
    f"{SERVER}.DeleteRecordsRequestTest",
    f"{SERVER}.DescribeGroupsRequestTest",
    f"{SERVER}.DescribeQuorumRequestTest",
    f"{SERVER}.EdgeCaseRequestTest",
    f"{SERVER}.FetchRequestMaxBytesTest",
    f"{SERVER}.FetchRequestTest",
    f"{SERVER}.HeartbeatRequestTest",
    f"{SERVER}.JoinGroupRequestTest",
    f"{SERVER}.LeaveGroupRequestTest",
    f"{SERVER}.ListGroupsRequestTest",
    f"{SERVER}.ListOffsetsRequestTest",
    f"{SERVER}.LogOffsetTest",
    f"{SERVER}.OffsetCommitRequestTest",
    f"{SERVER}.OffsetDeleteRequestTest",
    f"{SERVER}.OffsetFetchRequestTest",
    f"{SERVER}.OffsetsForLeaderEpochRequestTest",
    f"{SERVER}.ProduceRequestTest",
    f"{SERVER}.ShareFetchAcknowledgeRequestTest",
    f"{SERVER}.ShareGroupDescribeRequestTest",
    f"{SERVER}.ShareGroupHeartbeatRequestTest",
    f"{SERVER}.SyncGroupRequestTest",
    f"{SERVER}.TxnOffsetCommitRequestTest",
    f"{SERVER}.WriteTxnMarkersRequestTest",
    "kafka.api.TransactionsTest",
    f"{CLIENTS}.ClientRebootstrapTest",
    f"{CLIENTS}.TransactionsExpirationTest",
    f"{CLIENTS}.TransactionsWithMaxInFlightOneTest",
    f"{CLIENTS}.admin.AdminFenceProducersTest",
    f"{CLIENTS}.admin.ClientTelemetryTest",
    f"{CLIENTS}.admin.ConcurrentListOffsetsRequestTest",
    f"{CLIENTS}.admin.DeleteTopicTest",
    f"{CLIENTS}.admin.DescribeProducersWithBrokerIdTest",
    f"{CLIENTS}.admin.DynamicGroupConfigIntegrationTest",
    f"{CLIENTS}.admin.ListOffsetsIntegrationTest",
    f"{CONSUMER}.ConsumerIntegrationTest",
    f"{CONSUMER}.ConsumerTopicCreationTest",
    f"{CONSUMER}.PlaintextConsumerAssignTest",
    f"{CONSUMER}.PlaintextConsumerCallbackTest",
    f"{CONSUMER}.PlaintextConsumerCloseTest",
    f"{CONSUMER}.PlaintextConsumerCommitTest",
    f"{CONSUMER}.PlaintextConsumerFetchTest",
    f"{CONSUMER}.PlaintextConsumerPollTest",
    f"{CONSUMER}.PlaintextConsumerSubscriptionTest",
    f"{CONSUMER}.PlaintextConsumerTest",
    f"{CONSUMER}.ShareConsumerTest",
    f"{CLIENTS}.producer.ProducerCompressionTest",
    f"{CLIENTS}.producer.ProducerFailureHandlingTest",
    f"{CLIENTS}.producer.ProducerIdExpirationTest",
    f"{CLIENTS}.producer.ProducerIntegrationTest",
    f"{CLIENTS}.producer.ProducerSendWhileDeletionTest",
    f"{TOOLS}.AclCommandTest",
    f"{TOOLS}.BrokerApiVersionsCommandTest",
    f"{TOOLS}.ClusterToolTest",
    f"{TOOLS}.ConfigCommandIntegrationTest",
    f"{TOOLS}.DeleteRecordsCommandTest",
    f"{TOOLS}.FeatureCommandTest",
    f"{TOOLS}.GetOffsetShellTest",
    f"{TOOLS}.GroupsCommandTest",
    f"{TOOLS}.LeaderElectionCommandTest",
    f"{TOOLS}.LogDirsCommandTest",
    f"{TOOLS}.MetadataQuorumCommandTest",
    f"{TOOLS}.TopicCommandTest",
    f"{TOOLS}.UserScramCredentialsCommandTest",
    f"{TOOLS}.consumer.ConsoleConsumerTest",
    f"{GROUPS}.DeleteConsumerGroupsTest",
    f"{GROUPS}.DeleteOffsetsConsumerGroupCommandIntegrationTest",
    f"{GROUPS}.DescribeConsumerGroupTest",
    f"{GROUPS}.ListConsumerGroupTest",
    f"{GROUPS}.ResetConsumerGroupOffsetTest",
    f"{STREAMS}.EmitOnChangeIntegrationTest",
    f"{STREAMS}.GlobalKTableIntegrationTest",
    f"{STREAMS}.GlobalThreadShutDownOrderTest",
    f"{STREAMS}.JoinStoreIntegrationTest",
    f"{STREAMS}.KStreamAggregationDedupIntegrationTest",
    f"{STREAMS}.KStreamKStreamIntegrationTest",
    f"{STREAMS}.MetricsReporterIntegrationTest",
    f"{STREAMS}.RangeQueryIntegrationTest",
    f"{STREAMS}.StreamTableJoinIntegrationTest",
    f"{STREAMS}.TaskMetadataIntegrationTest",
    f"{CONNECT}.file.integration.FileStreamSinkConnectorIntegrationTest",
    f"{CONNECT}.file.integration.FileStreamSourceConnectorIntegrationTest",
    f"{CONNECT}.integration.ErrorHandlingIntegrationTest",
    f"{CONNECT}.integration.SessionedProtocolIntegrationTest",
    f"{CONNECT}.integration.TransformationIntegrationTest",
)


def build() -> str:
    """Return the class path of the tests, with the class of ours before Kafka's."""
    return java_program("tests", release=17)


def outcomes(
    address: str, words: Sequence[str], log: Path, expected: Mapping[str, Expected]
) -> dict[str, str]:
    """Run all tests but those left out, or the classes whose names contain a word; return what came of them.

    The servers are the tests' own: `address` is not used. A class that does not end in time has no outcomes.
    """
    left = [name.rpartition(".") for name, entry in expected.items() if entry.outcome == LEFT]
    command = ["java", *JVM, f"{LOGGING}=error", f"-Dcompat.servers={_servers()}", "-cp", build()]
    command += ["org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner"]
    command += ["--config=junit.jupiter.extensions.autodetection.enabled=true", "--details=tree"]
    command += [rf"--exclude-methodname=.*\.{simple}#{method}$" for simple, _, method in left]
    found: dict[str, str] = {}
    with log.open("w") as output:
        for name in CLASSES:
            if not words or any(word in name for word in words):
                found |= _class_outcomes([*command, f"--select-class={name}"], output)
    return found


def _class_outcomes(command: Sequence[str], output: IO[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "TEST-junit-jupiter.xml"
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [*command, f"--reports-dir={folder}"],
                stdout=output,
                stderr=output,
                check=False,
                timeout=CLASS_SECONDS,
            )
        return parse(report.read_text()) if report.exists() else {}


def _servers() -> str:
    """Return the words of the command that runs servers, one a line."""
    return "\n".join((sys.executable, "-m", servers.__name__))


def parse(report: str) -> dict[str, str]:
    """Return the outcomes in a report of JUnit.

    A method that runs several times, with other parameters, passes if no run failed, and one passed.
    """
    found: dict[str, str] = {}
    for name, outcome in _runs(report):
        if outcome == FAILED or found.get(name, SKIPPED) == SKIPPED:
            found[name] = outcome
    return found


def _runs(report: str) -> Iterator[tuple[str, str]]:
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = f"{case.attrib['classname'].rpartition('.')[2]}.{case.attrib['name'].partition('(')[0]}"
        failed = case.find("failure") is not None or case.find("error") is not None
        yield name, FAILED if failed else SKIPPED if case.find("skipped") is not None else PASSED
