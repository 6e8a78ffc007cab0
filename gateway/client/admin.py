"""Administration core: sends administration requests to brokers and name servers; see `admin_question`.

    admin = Admin(environment, namesrv_addr="127.0.0.1:9876")
    yield admin.ask(topics.stats("Orders"), "broker-a")      # one broker: its master, by name or address
    yield admin.ask_brokers(groups.progress("billing"))      # every master, by broker name
    yield admin.ask_name_server(names.cluster_info())        # the first name server that answers
    yield admin.ask_name_servers(names.put_value(...))       # all name servers, by address

Common tasks are single calls: topics and groups are created on all brokers, and a deleted topic is removed
from all name servers. RocketMQ: `DefaultMQAdminExtImpl`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar, Unpack

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.errors import BrokerError, NoBroker, NotRunning
from mqgateway.gateway.client.namespaces import with_namespace
from mqgateway.gateway.client.options import ClientOptions, made
from mqgateway.gateway.client.routes import MASTER
from mqgateway.gateway.client.settings import ClientSettings
from mqgateway.gateway.codec.bodies import BrokerData, MessageQueue
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand

T = TypeVar("T")

RESET_SECONDS = 15.0
"""Timeout of an offset reset, which waits for the members of the group."""


class Admin:
    """Administration client. It uses `client` if given, else creates and owns one."""

    def __init__(
        self, environment: Environment, *, client: Client | None = None, **settings: Unpack[ClientSettings]
    ) -> None:
        self.options = made(ClientOptions, settings)
        self._owns_client = client is None
        self.client = client or Client(self.options, environment)
        self._is_running = False

    @as_deferred
    async def start(self) -> None:
        """Enable requests; sends nothing yet. Raises `NotRunning` after `close`."""
        self.client.check_open()
        self._is_running = True

    @as_deferred
    async def close(self) -> None:
        """Close the connections, unless the client is shared. Idempotent."""
        self._is_running = False
        if self._owns_client:
            await self.client.close()

    # Requests

    @as_deferred
    async def ask(self, question: Question[T], broker: str, timeout: float | None = None) -> T:
        """Send a request to a broker, given as name (its master) or as `host:port`, and return its answer.

        `timeout` is in seconds. Raises `NoBroker`, `Unreachable`, `TimedOut`, `BrokerError`.
        """
        address = broker if ":" in arguments.text("broker", broker) else _master(await self._broker(broker))
        return await self._ask(question, address, timeout)

    @as_deferred
    async def ask_brokers(
        self, question: Question[T], cluster: str | None = None, timeout: float | None = None
    ) -> dict[str, T]:
        """Send a request to the master of every broker group, or of those in `cluster`.

        Returns the answers by broker name. Raises as `ask`, for the first request that fails.
        """
        found = await self._brokers(cluster)
        return {name: await self._ask(question, _master(data), timeout) for name, data in found.items()}

    @as_deferred
    async def ask_name_server(self, question: Question[T]) -> T:
        """Send a request to the name servers in turn until one answers. Raises as `ask`."""
        return await self._ask_name_server(question)

    @as_deferred
    async def ask_name_servers(self, question: Question[T], timeout: float | None = None) -> dict[str, T]:
        """Send a request to every name server and return the answers by address.

        Raises as `ask`, for the first request that fails.
        """
        self._check_running()
        servers = self.client.name_servers.addresses
        return {
            address: await self._ask(question, address, timeout, vip=False) for address in sorted(servers)
        }

    @as_deferred
    async def brokers(self, cluster: str | None = None) -> dict[str, BrokerData]:
        """Return every broker group, or those of `cluster`, by name.

        Raises `NoBroker` for a cluster without brokers.
        """
        return await self._brokers(cluster)

    # Common tasks

    @as_deferred
    async def create_topic(
        self, config: TopicConfig, *, cluster: str | None = None, brokers: Iterable[str] = ()
    ) -> None:
        """Create or update a topic on all brokers, on those of `cluster`, or on the given `brokers`."""
        arguments.of_type("config", config, TopicConfig, 'a TopicConfig, as TopicConfig("Orders", 8, 8)')
        found = await self._brokers(cluster)
        for name in list(brokers) or list(found):
            await self._ask(topics.update(self._named(config)), _master(await self._broker(name)))

    @as_deferred
    async def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete a topic on all brokers, or on those of `cluster`, and remove it from the name servers."""
        topic = with_namespace(self.options.namespace, arguments.text("topic", topic))
        for data in (await self._brokers(cluster)).values():
            await self._ask(topics.delete(topic), _master(data))
        for address in self.client.name_servers.addresses:
            await self._ask(names.forget_topic(topic, cluster), address, vip=False)

    @as_deferred
    async def create_group(self, config: SubscriptionGroupConfig, *, cluster: str | None = None) -> None:
        """Create or update a consumer group on all brokers, or on those of `cluster`."""
        kind = SubscriptionGroupConfig
        arguments.of_type(
            "config", config, kind, 'a SubscriptionGroupConfig, as SubscriptionGroupConfig("billing")'
        )
        for data in (await self._brokers(cluster)).values():
            await self._ask(groups.update(config), _master(data))

    @as_deferred
    async def delete_group(
        self, group: str, *, cluster: str | None = None, with_offsets: bool = False
    ) -> None:
        """Delete a consumer group on all brokers, or on those of `cluster`.

        `with_offsets` also deletes its committed offsets.
        """
        group = with_namespace(self.options.namespace, arguments.text("group", group))
        for data in (await self._brokers(cluster)).values():
            await self._ask(groups.delete(group, with_offsets=with_offsets), _master(data))

    @as_deferred
    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return every readable queue of a topic, sorted. Raises `NoBroker` if no broker has the topic."""
        topic = with_namespace(self.options.namespace, arguments.text("topic", topic))
        route = await self._ask_name_server(names.route(topic))
        if route is None:
            raise NoBroker(f"no broker has the topic {topic}")
        return sorted(
            MessageQueue(topic, one.broker_name, number)
            for one in route.queue_datas
            for number in range(one.read_queue_nums)
        )

    @as_deferred
    async def reset_offsets(
        self, group: str, topic: str, timestamp: int | datetime
    ) -> dict[MessageQueue, int]:
        """Reset a group to a time in all queues of a topic and return the new offsets.

        `timestamp` is in ms since the epoch, an aware datetime, `groups.LATEST` or `groups.EARLIEST`. Raises
        `NoBroker` if no broker has the topic.
        """
        millis = arguments.search_millis("timestamp", timestamp)
        topic = with_namespace(self.options.namespace, arguments.text("topic", topic))
        group = with_namespace(self.options.namespace, arguments.text("group", group))
        route = await self._ask_name_server(names.route(topic))
        if route is None:
            raise NoBroker(f"no broker has the topic {topic}")
        found: dict[MessageQueue, int] = {}
        for data in route.broker_datas:
            question = groups.reset_offsets(group, topic, millis)
            offsets: dict[MessageQueue, int] = await self._ask(question, _master(data), RESET_SECONDS)
            found |= offsets
        return found

    # Internals

    async def _ask(
        self, question: Question[T], address: str, timeout: float | None = None, *, vip: bool = True
    ) -> T:
        self._check_running()
        _check_question(question)
        if timeout is not None:
            timeout = arguments.seconds("timeout", timeout)
        answer = await self.client.asking.ask(
            address,
            question.code,
            question.header,
            question.body,
            timeout=timeout,
            vip=vip,
            fields=question.fields,
        )
        return _read(question, answer, address)

    async def _ask_name_server(self, question: Question[T]) -> T:
        self._check_running()
        _check_question(question)
        answer = await self.client.name_servers.ask(question.code, question.header, question.body)
        return _read(question, answer, "the name server")

    async def _brokers(self, cluster: str | None) -> dict[str, BrokerData]:
        if cluster is not None:
            arguments.text("cluster", cluster)
        info = await self._ask_name_server(names.cluster_info())
        if cluster is None:
            return dict(sorted(info.broker_addr_table.items()))
        members = info.cluster_addr_table.get(cluster)
        if not members:
            raise NoBroker(f"no broker is in the cluster {cluster}")
        return {name: info.broker_addr_table[name] for name in sorted(members)}

    async def _broker(self, name: str) -> BrokerData:
        found = (await self._brokers(None)).get(name)
        if found is None:
            raise NoBroker(f"no name server knows the broker {name}")
        return found

    def _named(self, config: TopicConfig) -> TopicConfig:
        return replace(config, topic_name=with_namespace(self.options.namespace, config.topic_name))

    def _check_running(self) -> None:
        if not self._is_running:
            raise NotRunning("the administrator was not started, or has been closed")


def _check_question(question: Question[T]) -> None:
    arguments.of_type("question", question, Question, "a question of mqgateway.admin, as topics.stats(...)")


def _master(data: BrokerData) -> str:
    if MASTER not in data.broker_addrs:
        raise NoBroker(f"the broker {data.broker_name} has no master")
    return data.broker_addrs[MASTER]


def _read(question: Question[T], answer: RemotingCommand, address: str) -> T:
    if answer.code not in (ResponseCode.SUCCESS, *question.nothing_codes):
        raise BrokerError(answer.code, answer.remark, address)
    return question.read(answer)
