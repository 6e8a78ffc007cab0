"""Clients that authenticate themselves by PLAIN and SCRAM: right, wrong, again; users that clients make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.kafka.support.commands import Commands, Output
from compat_tests.kafka.support.secured import (
    MECHANISMS,
    ROOT,
    ROOT_PASSWORD,
    SESSION_MILLIS,
    SecuredServer,
    java_properties,
    run_client,
)
from compat_tests.kafka.support.servers import KafkaServer, Servers

SCRAM = MECHANISMS[1:]
PYTHON_CLIENTS = ("librdkafka", "kafka-python")


@pytest.fixture(scope="module")
def secured_servers(work: Path) -> Iterator[Servers]:
    """The servers that authenticate."""
    servers = Servers(lambda kind: SecuredServer(kind, work))
    yield servers
    servers.close()


@pytest.fixture
def secured(kind: str, secured_servers: Servers) -> KafkaServer:
    """The server of one kind that authenticates."""
    return secured_servers.get(kind)


class Java:
    """Kafka's commands as users of one server."""

    def __init__(self, commands: Commands, server: KafkaServer) -> None:
        self._commands = commands
        self._server = server

    def run(
        self,
        command: str,
        *arguments: str,
        text: str = "",
        mechanism: str = "PLAIN",
        login: tuple[str, str] = (ROOT, ROOT_PASSWORD),
    ) -> Output:
        """Run a command as a user."""
        settings = java_properties(self._server.folder, mechanism, *login)
        given = (*arguments, "--command-config", settings)
        return self._commands.run(self._server.address, command, *given, text=text)

    def create_topic(self, name: str) -> None:
        """Create a topic."""
        created = self.run("topics", "--create", "--topic", name, "--partitions", "1")
        assert created.exit == 0, created

    def set_credential(self, user: str, mechanism: str, password: str) -> Output:
        """Set a credential of a user."""
        return self.run(
            "configs", "--alter", *_of(user), "--add-config", f"{mechanism}=[password={password}]"
        )


def _of(user: str) -> tuple[str, ...]:
    return "--entity-type", "users", "--entity-name", user


@pytest.fixture
def java(commands: Commands, secured: KafkaServer) -> Java:
    """Kafka's commands."""
    return Java(commands, secured)


def test_java_client_authenticates_by_plain(java: Java, name: str) -> None:
    java.create_topic(name)
    sent = java.run("console-producer", "--topic", name, text="one\ntwo\n")
    assert sent.exit == 0, sent
    listed = java.run("topics", "--list")
    assert name in listed.out.split()


@pytest.mark.parametrize("mechanism", SCRAM)
def test_java_client_authenticates_by_scram(java: Java, name: str, mechanism: str) -> None:
    user = f"{name}-{mechanism}".lower()
    done = java.set_credential(user, mechanism, "secret12")
    assert done.exit == 0 and "Completed updating config for user" in done.out, done
    # Its topics are those that it may see: none.
    listed = java.run("topics", "--list", mechanism=mechanism, login=(user, "secret12"))
    assert (listed.exit, listed.out.split()) == (0, []), listed


@pytest.mark.parametrize(
    ("mechanism", "login", "text"),
    [
        ("PLAIN", (ROOT, "wrong"), "Authentication failed: Invalid username or password"),
        ("PLAIN", ("nobody", "wrong"), "Authentication failed: Invalid username or password"),
        (
            "SCRAM-SHA-256",
            ("nobody", "wrong"),
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            "SCRAM-SHA-256",
        ),
    ],
)
def test_wrong_credentials_are_refused_with_the_same_text(
    java: Java, mechanism: str, login: tuple[str, str], text: str
) -> None:
    refused = java.run("topics", "--list", mechanism=mechanism, login=login)
    assert refused.exit != 0 and text in refused.out + refused.err, refused


def test_credentials_are_described_changed_and_deleted(java: Java, name: str) -> None:
    for mechanism in SCRAM:
        assert java.set_credential(name, mechanism, "secret12").exit == 0
    described = java.run("configs", "--describe", *_of(name)).out
    for mechanism in SCRAM:
        assert f"{mechanism}=iterations=" in described, described
    assert java.set_credential(name, SCRAM[0], "secret34").exit == 0
    listing = ("topics", "--list")
    assert java.run(*listing, mechanism=SCRAM[0], login=(name, "secret34")).exit == 0
    assert java.run(*listing, mechanism=SCRAM[0], login=(name, "secret12")).exit != 0
    deleted = java.run("configs", "--alter", *_of(name), "--delete-config", SCRAM[0])
    assert deleted.exit == 0, deleted
    assert java.run(*listing, mechanism=SCRAM[0], login=(name, "secret34")).exit != 0
    described = java.run("configs", "--describe", *_of(name)).out
    assert SCRAM[0] not in described and SCRAM[1] in described, described


def test_user_without_rights_cannot_change_credentials(java: Java, name: str) -> None:
    assert java.set_credential(name, SCRAM[0], "secret12").exit == 0
    changed = java.run(
        *("configs", "--alter", *_of(name), "--add-config", f"{SCRAM[0]}=[password=x]"),
        mechanism=SCRAM[0],
        login=(name, "secret12"),
    )
    assert changed.exit != 0 and "ClusterAuthorizationException" in changed.out + changed.err, changed


def test_java_producer_authenticates_again_while_it_sends(java: Java, name: str) -> None:
    java.create_topic(name)
    seconds = 3 * SESSION_MILLIS // 1000
    sent = java.run(
        "producer-perf-test",
        *("--topic", name, "--num-records", str(20 * seconds), "--record-size", "10"),
        *("--throughput", "20"),
    )
    assert sent.exit == 0 and f"{20 * seconds} records sent" in sent.out, sent


@pytest.mark.parametrize("client", PYTHON_CLIENTS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_python_client_authenticates(
    java: Java, secured: KafkaServer, name: str, client: str, mechanism: str
) -> None:
    java.create_topic(name)
    assert mechanism == "PLAIN" or java.set_credential(ROOT, mechanism, ROOT_PASSWORD).exit == 0
    login = (ROOT, ROOT_PASSWORD)
    outcome = run_client(client, secured.address, mechanism, login, name, ["one", "two"])
    assert outcome == {"values": ["one", "two"]}


@pytest.mark.parametrize("client", PYTHON_CLIENTS)
def test_python_client_with_a_wrong_password_gets_an_error(
    secured: KafkaServer, name: str, client: str
) -> None:
    outcome = run_client(client, secured.address, "PLAIN", (ROOT, "wrong"), name, ["one"])
    assert "values" not in outcome and outcome["error"], outcome


def test_librdkafka_authenticates_again_while_it_sends(java: Java, secured: KafkaServer, name: str) -> None:
    java.create_topic(name)
    values = [f"value-{number}" for number in range(3 * SESSION_MILLIS // 1000)]
    login = (ROOT, ROOT_PASSWORD)
    outcome = run_client("librdkafka", secured.address, "PLAIN", login, name, values, pause=1.0)
    assert outcome == {"values": values}
