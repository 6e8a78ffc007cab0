"""Servers that require TLS or signatures, and clients that verify the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bench.access import LOAD, GuardedServer, signed
from compat_tests.support.raw import RawConnection
from mqgateway.gateway.codec.codes import RequestCode
from spark_tests.broker import Broker
from tests.gateway.remoting.test_tls import identity

QUICK = {"connectTimeoutMs": "0", "unreachableTimeoutMs": "0", "fetchOffset.numRetries": "0"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "stranger"):
        key, certificate = identity(name)
        (folder / f"{name}.key").write_bytes(key)
        (folder / f"{name}.pem").write_bytes(certificate)
    return folder


@pytest.fixture(scope="module")
def safe(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[Broker]:
    """A server that accepts TLS with a certificate of its own, and plain connections."""
    with pytest.MonkeyPatch.context() as environment:
        # Variables hold for name server and broker both.
        environment.setenv("MQGATEWAY_TLS_TEST_MODE_ENABLE", "false")
        environment.setenv("MQGATEWAY_TLS_SERVER_KEY_PATH", str(certificates / "server.key"))
        environment.setenv("MQGATEWAY_TLS_SERVER_CERT_PATH", str(certificates / "server.pem"))
        broker = Broker(tmp_path_factory.mktemp("safe"))
    yield broker
    broker.server.discard()


def given(broker: Broker, topic: str, certificate: Path) -> dict[str, str]:
    return {
        "nameServer": broker.namesrv,
        "topic": topic,
        "useTLS": "true",
        "tls.test.mode.enable": "false",
        "tls.client.authServer": "true",
        "tls.client.trustCertPath": str(certificate),
        **QUICK,
    }


def test_rows_go_through_tls_both_ways(spark: SparkSession, safe: Broker, certificates: Path) -> None:
    topic = safe.topic("safe", 2)
    options = given(safe, topic, certificates / "server.pem")
    frame = spark.range(50).select(f.format_string("%02d", "id").alias("body"))
    frame.write.format("rocketmq").options(**options).mode("append").save()
    rows = spark.read.format("rocketmq").options(**options).load().select("body").collect()
    assert sorted(row.body.decode() for row in rows) == [f"{number:02}" for number in range(50)]


def test_a_server_with_a_strange_certificate_is_not_believed(
    spark: SparkSession, safe: Broker, certificates: Path
) -> None:
    options = given(safe, safe.topic("strange", 1), certificates / "stranger.pem")
    with pytest.raises(Exception, match="certificate verify failed"):
        spark.read.format("rocketmq").options(**options).load().count()


def test_contradictory_options_are_refused_in_planning(spark: SparkSession, safe: Broker) -> None:
    options = {"nameServer": safe.namesrv, "topic": "t"}
    for more, said in (
        ({"tls.client.authServer": "true"}, "set useTLS to true"),
        ({"accessKey": "k"}, "accessKey and secretKey belong together"),
        ({"nameServer": "localhost"}, "write host:port"),
    ):
        with pytest.raises(Exception, match=said):
            spark.read.format("rocketmq").options(**{**options, **more}).load().count()


GROUPS = {"resource": "Group:*", "actions": ["Sub", "Get"], "decision": "Allow"}
TOPIC = {
    "topic": "guarded",
    "defaultTopic": "TBW102",
    "readQueueNums": "2",
    "writeQueueNums": "2",
    "perm": "6",
    "topicFilterType": "SINGLE_TAG",
    "topicSysFlag": "0",
    "order": "false",
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server that authenticates requests, with a topic and its user; yield the name server."""
    server = GuardedServer("ours", tmp_path_factory.mktemp("guarded")).start()
    subject = f"User:{LOAD.access_key}"
    policies = {"subject": subject, "policies": [{"policyType": "Custom", "entries": [GROUPS]}]}
    try:
        for command in (
            signed(RequestCode.AUTH_UPDATE_ACL, {"subject": subject}, json.dumps(policies).encode()),
            signed(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC),
        ):
            with RawConnection(server.broker_address) as connection:
                answer = connection.ask(command.code, command.ext_fields, command.body)
            assert answer is not None and answer.code == 0, answer
        yield server.namesrv_address
    finally:
        server.discard()


def test_rows_are_written_and_read_with_credentials(
    spark: SparkSession, guarded: str, tmp_path: Path
) -> None:
    file = tmp_path / "tools.yml"
    file.write_text(f"accessKey: {LOAD.access_key}\nsecretKey: {LOAD.secret_key}\n")
    frame = spark.range(50).select(f.format_string("%02d", "id").alias("body"))
    common = {"nameServer": guarded, "topic": "guarded", **QUICK}
    options = common | {"accessKey": LOAD.access_key, "secretKey": LOAD.secret_key}
    frame.write.format("rocketmq").options(**options).mode("append").save()
    for who in (options, common | {"credentialsFile": str(file)}):
        rows = spark.read.format("rocketmq").options(**who).load().select("body").collect()
        assert sorted(row.body.decode() for row in rows) == [f"{number:02}" for number in range(50)]
    for who, why in (
        (common | {"accessKey": LOAD.access_key, "secretKey": "wrong"}, "check signature failed"),
        (common, "username cannot be null"),
    ):
        with pytest.raises(Exception, match=why):
            spark.read.format("rocketmq").options(**who).load().count()
        with pytest.raises(Exception, match=why):
            frame.write.format("rocketmq").options(**who).mode("append").save()
