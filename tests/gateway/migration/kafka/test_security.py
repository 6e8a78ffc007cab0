"""Connection settings of a cluster, and authentication."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from mqgateway.gateway.access.scram import SCRAM_MECHANISMS
from mqgateway.gateway.access.users import User
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from mqgateway.gateway.migration.kafka.connection import KafkaError
from mqgateway.gateway.migration.kafka.security import (
    MECHANISMS,
    ClusterSecurity,
    Login,
    log_in,
    read_security,
)
from mqgateway.gateway.migration.plan import MigrationError
from mqgateway.gateway.mqadmin.connection import plain
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.migration.kafka_clusters import ANSWER_SECONDS, MemoryStream

JAAS = 'sasl.jaas.config=org.apache.kafka.X required username="al,i=ce" password="a\\\\"b";\n'


def test_properties_of_clients_are_read() -> None:
    assert read_security(b"", "f") == ClusterSecurity(plain, None)
    text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{JAAS}"
    assert read_security(text.encode(), "f") == ClusterSecurity(plain, Login("PLAIN", "al,i=ce", 'a"b'))
    tls = read_security(b"security.protocol=SSL", "f")
    assert tls.connect is not plain and tls.login is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("security.protocol=X", "f: security.protocol is X; known are PLAINTEXT, SSL"),
        ("security.protocol=SASL_SSL\n", "f: sasl.mechanism is not set; known are PLAIN, SCRAM-SHA-256"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN", "f: sasl.jaas.config must have username"),
        ("a=\\u12", "f: "),
        ("security.protocol=SSL\nssl.truststore.location=x.jks", "f: ssl.truststore.type must be PEM"),
    ],
)
def test_other_properties_are_refused(text: str, fault: str) -> None:
    with pytest.raises(MigrationError, match=fault):
        read_security(text.encode(), "f")


def test_missing_certificates_are_an_error(tmp_path: Path) -> None:
    text = f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={tmp_path / 'none'}"
    with pytest.raises(OSError, match="No such file"):
        read_security(text.encode(), "f")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_user_logs_in(mechanism: str) -> None:
    with kafka_scene(authentication_enabled=True) as scene:
        scene.users.put(User("al,i=ce", "secret"))

        def cluster(password: str) -> KafkaCluster:
            security = ClusterSecurity(lambda *_: MemoryStream(scene), Login(mechanism, "al,i=ce", password))
            return KafkaCluster([f"10.0.0.1:{scene.port}"], security, ANSWER_SECONDS)

        assert len(cluster("secret").metadata([]).brokers) == 1
        with pytest.raises(KafkaError, match=r"al,i=ce at 10\.0\.0\.1:.*SASL_AUTHENTICATION_FAILED"):
            cluster("wrong").metadata([])


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ([b"r=other,s=eA==,i=4096"], "first message of SCRAM-SHA-256 cannot be used"),
        ([b"nonsense"], "first message of SCRAM-SHA-256 cannot be used"),
        ([b"r=NONCE,s=eA==,i=99999999"], "first message of SCRAM-SHA-256 cannot be used"),
        ([b"r=NONCE,s=eA==,i=1"], "first message of SCRAM-SHA-256 cannot be used"),
        ([b"r=NONCE,s=eA==,i=" + b"9" * 5000], "first message of SCRAM-SHA-256 cannot be used"),
        ([b"r=NONCE,s=eA=,i=4096"], "salt of SCRAM-SHA-256 cannot be read"),
        ([b"r=NONCE,s=eA==,i=4096", b"v=" + base64.b64encode(b"x")], "does not know the password of alice"),
    ],
)
def test_server_that_proves_nothing_is_refused(answers: list[bytes], fault: str) -> None:
    sent: list[bytes] = []

    def send(token: bytes) -> bytes:
        sent.append(token)
        nonce = sent[0].rpartition(b"r=")[2]
        return answers[len(sent) - 1].replace(b"NONCE", nonce + b"x")

    assert "SCRAM-SHA-256" in SCRAM_MECHANISMS
    with pytest.raises(MigrationError, match=fault):
        log_in(Login("SCRAM-SHA-256", "alice", "secret"), send)
