"""Servers that a command queries: name servers, the brokers of a cluster, those of a topic.

Queries are those of the client's administration (`gateway.client.admin_question`). A query whose failure
concerns a single server runs within `part`, which records the failure. Changes go through `change`, which
changes nothing in a dry run. RocketMQ: `CommandUtil`, `DefaultMQAdminExtImpl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from mqgateway.gateway.cli.explaining import explained
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoBroker, Unreachable
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.mqadmin.connection import Connections

if TYPE_CHECKING:
    from mqgateway.gateway.codec.bodies import BrokerData, ClusterInfo, TopicRouteData

T = TypeVar("T")
MASTER = 0


class Servers:
    """The servers of a call. `timeout` is in seconds."""

    def __init__(
        self, name_servers: Sequence[str], connections: Connections, timeout: float, *, is_dry: bool = False
    ) -> None:
        self.name_servers = list(name_servers)
        self.errors: list[dict[str, Any]] = []
        self.failures: list[ClientError] = []
        self.withheld: list[dict[str, Any]] = []
        self.parts_done = 0
        self.is_dry = is_dry
        self._connections = connections
        self._timeout = timeout

    def ask(self, question: Question[T], address: str, timeout: float | None = None) -> T:
        """Return a server's answer. Raises `ClientError`, `BrokerError` for a refusal."""
        fields = {} if question.header is None else question.header.encode()
        command = RemotingCommand(question.code, ext_fields={**fields, **question.fields}, body=question.body)
        answer = self._connections.ask(address, command, self._timeout if timeout is None else timeout)
        if answer.code not in (ResponseCode.SUCCESS, *question.nothing_codes):
            raise BrokerError(answer.code, answer.remark, address)
        return question.read(answer)

    def change(self, question: Question[T], address: str, timeout: float | None = None) -> T | None:
        """Send a request that changes something and return the answer. Raises as `ask`.

        In a dry run, add the request to `withheld` instead and return None.
        """
        if not self.is_dry:
            return self.ask(question, address, timeout)
        fields = {} if question.header is None else question.header.encode()
        entry = {"server": address, "request": question.code.name, "fields": {**fields, **question.fields}}
        if question.body:
            entry["body"] = question.body.decode("utf-8", "replace")
        self.withheld.append(entry)
        return None

    @contextmanager
    def part(self, server: str) -> Iterator[None]:
        """Run the body as the part of one server: a `ClientError` is recorded, and the command continues."""
        try:
            yield
            self.parts_done += 1
        except ClientError as error:
            self.failures.append(error)
            entry: dict[str, Any] = {"server": server, "error": explained(error)}
            if isinstance(error, BrokerError):
                entry["code"] = error.code
            self.errors.append(entry)

    # Name servers

    def ask_names(self, question: Question[T]) -> T:
        """Return the answer of the first name server that is reachable.

        Raises `ClientError`, `BrokerError` for a refusal.
        """
        failure: Exception = ClientError("no name server is given: use -n or set NAMESRV_ADDR")
        for address in self.name_servers:
            try:
                return self.ask(question, address)
            except Unreachable as error:
                failure = error
        raise failure

    def change_names(self, question: Question[Any]) -> None:
        """Send a change to all name servers, which do not replicate between each other."""
        if not self.name_servers:
            raise ClientError("no name server is given: use -n or set NAMESRV_ADDR")
        for address in self.name_servers:
            self.change(question, address)

    def route(self, topic: str) -> TopicRouteData:
        """Return the brokers and queues of a topic. Raises `NoBroker`."""
        found = self.ask_names(names.route(topic))
        if found is None:
            raise NoBroker(
                f"No topic route info in name server for the topic: {topic}; "
                "see the topics: mqgateway topic list"
            )
        return found

    def clusters(self) -> ClusterInfo:
        """Return all clusters with their brokers."""
        return self.ask_names(names.cluster_info())

    # Brokers

    def masters(self, cluster: str) -> list[str]:
        """Return the addresses of the masters of a cluster. Raises `NoBroker` for an unknown cluster."""
        return [one.broker_addrs[MASTER] for one in self.members(cluster) if MASTER in one.broker_addrs]

    def all_brokers(self, cluster: str) -> list[str]:
        """Return the addresses of all brokers of a cluster, including slaves. Raises as `masters`."""
        return [address for one in self.members(cluster) for _, address in sorted(one.broker_addrs.items())]

    def members(self, cluster: str) -> list[BrokerData]:
        """Return the broker groups of a cluster, sorted by name. Raises `NoBroker`."""
        info = self.clusters()
        if cluster not in info.cluster_addr_table:
            raise NoBroker(
                f"there is no cluster {cluster}; the name server knows "
                f"{', '.join(sorted(info.cluster_addr_table)) or 'none'}"
            )
        found = sorted(info.cluster_addr_table[cluster])
        return [info.broker_addr_table[name] for name in found if name in info.broker_addr_table]

    def named(self, broker_name: str) -> BrokerData:
        """Return the broker group of a name. Raises `NoBroker`."""
        found = self.clusters().broker_addr_table.get(broker_name)
        if found is None:
            raise NoBroker(f"no broker address for the broker name {broker_name}")
        return found


def master_of(data: BrokerData) -> str:
    """Return the address of the master of a broker group. Raises `NoBroker`."""
    if MASTER not in data.broker_addrs:
        raise NoBroker(f"no master of the broker {data.broker_name} is known")
    return data.broker_addrs[MASTER]


def reachable(brokers: Iterable[BrokerData]) -> Iterator[tuple[str, str]]:
    """Yield the name and an address of each broker group: that of its master, else of its first slave."""
    for one in sorted(brokers, key=lambda data: data.broker_name):
        if one.broker_addrs:
            yield one.broker_name, one.broker_addrs.get(MASTER) or min(one.broker_addrs.items())[1]
