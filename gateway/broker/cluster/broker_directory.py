"""Directory of other brokers by name: addresses of their masters, and requests to them.

A request by name is answered with whatever the broker answers. One to an address, which `address` returns for
a name, fails for a refusal.

Addresses are looked up at a name server when first needed, and again when stale; a stale address is used if
the lookup fails. RocketMQ: `BrokerOuterAPI.refreshMetadata`, `RpcClientImpl`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NoReturn

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.options import BrokerOptions, load_properties
from mqgateway.gateway.broker.cluster.name_servers import NameServers, accepted
from mqgateway.gateway.codec.bodies import (
    BrokerData,
    ClusterInfo,
    ConsumerConnection,
    ConsumeStats,
    HARuntimeInfo,
    KVTable,
    SubscriptionGroupWrapper,
    TopicConfigAndMappingSerializeWrapper,
    TopicStatsTable,
)
from mqgateway.gateway.codec.bodies.tables import FIGURES_FIELD, LAGS_FIELD
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import (
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsRequestHeader,
    GetTopicStatsInfoRequestHeader,
)
from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.remoting.client import Ask

log = logging.getLogger(__name__)

FRESH_SECONDS = 30.0
"""Time after which an address is stale."""


class BrokerDirectory:
    """Brokers of the cluster; as many as the name servers have."""

    def __init__(self, options: BrokerOptions, clock: Clock, ask: Ask, name_servers: NameServers) -> None:
        self._options = options
        self._clock = clock
        self._ask = ask
        self.name_servers = name_servers
        self._addresses: dict[str, str] = {}
        self._looked_up: float | None = None
        self._waiting: list[Deferred[None]] = []
        self._problem = ""

    def ask(self, name: str, command: RemotingCommand) -> Deferred[RemotingCommand]:
        """Send a request to the master of a broker group. Fails with `RequestError`, also if it is late."""

        def query(address: str) -> Deferred[RemotingCommand]:
            return self._send(address, command)

        def explained(failure: Failure) -> NoReturn:
            if isinstance(failure.value, RequestError):
                raise failure.value
            raise _failed(f"broker {name} does not answer: {failure.value}")

        return self.address(name).addCallback(query).addErrback(explained)

    def address(self, name: str) -> Deferred[str]:
        """Return the address of the master of a broker group. Fails with `RequestError` for an unknown
        one."""

        def found(_: None) -> str:
            address = self._addresses.get(name)
            if address is None:
                raise _failed(f"cannot find addr for broker {name}")
            return address

        return self._fresh().addCallback(found)

    def _send(self, address: str, command: RemotingCommand) -> Deferred[RemotingCommand]:
        return maybeDeferred(self._ask, address, command, self._options.forward_timeout / 1000)

    def runtime_info(self, address: str) -> Deferred[dict[str, str]]:
        """Return the figures of a broker by name. Fails with `RequestError`, and with `BodyError`."""
        asked = self._query(address, RequestCode.GET_BROKER_RUNTIME_INFO)
        return asked.addCallback(lambda answer: KVTable.decode(answer.body).table)

    def settings(self, address: str) -> Deferred[dict[str, str]]:
        """Return the settings of a broker by name. Fails with `RequestError`, and with `ConfigError`."""
        asked = self._query(address, RequestCode.GET_BROKER_CONFIG)
        return asked.addCallback(
            lambda answer: {one.key: one.value for one in load_properties(answer.body, address)}
        )

    def topics(
        self, address: str, *, has_figures: bool = False
    ) -> Deferred[TopicConfigAndMappingSerializeWrapper]:
        """Return the topics of a broker, with their figures if `has_figures` and it is not RocketMQ's.

        Fails with `RequestError`, and with `BodyError`.
        """
        code, fields = RequestCode.GET_ALL_TOPIC_CONFIG, {FIGURES_FIELD: "true"} if has_figures else {}
        asked = self.request(address, RemotingCommand.request(code, ext=fields))
        return asked.addCallback(lambda answer: TopicConfigAndMappingSerializeWrapper.decode(answer.body))

    def groups_of(self, address: str) -> Deferred[dict[str, dict[str, Any]]]:
        """Return the consumer groups of a broker as JSON, by name. Fails like `topics`."""
        asked = self._query(address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
        return asked.addCallback(
            lambda answer: SubscriptionGroupWrapper.decode(answer.body).subscription_group_table
        )

    def group_lags(self, address: str) -> Deferred[dict[str, int | None]]:
        """Return the lag of each consumer group of a broker in messages, by name; None if the broker returns
        no lags, as RocketMQ's does. Fails like `topics`."""

        def read(answer: RemotingCommand) -> dict[str, int | None]:
            body = SubscriptionGroupWrapper.decode(answer.body)
            lags = body.group_lags or {}
            return {name: lags.get(name) for name in body.subscription_group_table}

        code, fields = RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {LAGS_FIELD: "true"}
        return self.request(address, RemotingCommand.request(code, ext=fields)).addCallback(read)

    def topic_stats(self, address: str, topic: str) -> Deferred[TopicStatsTable]:
        """Return the queues of a topic at a broker. Fails like `topics`."""
        header = GetTopicStatsInfoRequestHeader(topic=topic)
        asked = self._query(address, RequestCode.GET_TOPIC_STATS_INFO, header)
        return asked.addCallback(lambda answer: TopicStatsTable.decode(answer.body))

    def consume_stats(self, address: str, group: str) -> Deferred[ConsumeStats]:
        """Return the progress of a group at a broker. Fails like `topics`."""
        header = GetConsumeStatsRequestHeader(consumer_group=group)
        asked = self._query(address, RequestCode.GET_CONSUME_STATS, header)
        return asked.addCallback(lambda answer: ConsumeStats.decode(answer.body))

    def members(self, address: str, group: str) -> Deferred[list[str]]:
        """Return the client ids of the members of a group at a broker. Fails like `topics`."""

        def read(answer: RemotingCommand) -> list[str]:
            if answer.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return []
            return [one.client_id for one in ConsumerConnection.decode(answer.body).connection_set]

        header = GetConsumerConnectionListRequestHeader(consumer_group=group)
        expected = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)
        command = RemotingCommand.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        return self.request(address, command, expected).addCallback(read)

    def replication(self, address: str) -> Deferred[HARuntimeInfo]:
        """Return the state of the replicas of a master. Fails like `topics`."""
        asked = self._query(address, RequestCode.GET_BROKER_HA_STATUS)
        return asked.addCallback(lambda answer: HARuntimeInfo.decode(answer.body))

    def _query(
        self, address: str, code: RequestCode, header: Header | None = None
    ) -> Deferred[RemotingCommand]:
        return self.request(address, RemotingCommand.request(code, header))

    def request(
        self,
        address: str,
        command: RemotingCommand,
        expected: Sequence[ResponseCode] = (ResponseCode.SUCCESS,),
    ) -> Deferred[RemotingCommand]:
        """Send a request to a broker.

        Fails with `RequestError` without an answer, and for one with another code than those expected.
        """

        def answered(answer: RemotingCommand) -> RemotingCommand:
            if answer.code not in expected:
                raise _failed(f"the broker answers {answer.code}, {answer.remark}")
            return answer

        def unanswered(failure: Failure) -> NoReturn:
            raise _failed(f"the broker does not answer: {failure.value}")

        return self._send(address, command).addCallbacks(answered, unanswered)

    def other_masters(self) -> Deferred[list[str]]:
        """Return the names of other groups with a master, as far as name servers answer; never fails."""
        own = self._options.broker_name
        return self._fresh().addCallback(lambda _: sorted(self._addresses.keys() - {own}))

    def groups(self) -> Deferred[list[BrokerData]]:
        """Return all broker groups by name, as a name server knows them now; empty if none answers."""
        command = RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        return self.name_servers.read(command, _groups).addErrback(self._no_groups)

    def expire(self) -> None:
        """Look the addresses up again before the next request: a master may have moved."""
        self._looked_up = None

    def __len__(self) -> int:
        return len(self._addresses)

    def _fresh(self) -> Deferred[None]:
        """Return a Deferred that fires, never with a failure, when the addresses are as fresh as possible."""
        now = self._clock.monotonic()
        if self._looked_up is not None and now - self._looked_up < FRESH_SECONDS:
            return succeed(None)
        ready: Deferred[None] = Deferred()
        self._waiting.append(ready)
        if len(self._waiting) == 1:
            command = RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO)
            looked_up = self.name_servers.read(command, _masters)
            looked_up.addCallback(self._take).addErrback(self._unknown).addBoth(self._answer_waiting)
        return ready

    def _take(self, addresses: dict[str, str]) -> None:
        self._problem = ""
        self._addresses = addresses
        self._looked_up = self._clock.monotonic()

    def _no_groups(self, failure: Failure) -> list[BrokerData]:
        self._unknown(failure)
        return []

    def _unknown(self, failure: Failure) -> None:
        """Log a problem once, until it changes."""
        if str(failure.value) != self._problem:
            self._problem = str(failure.value)
            log.warning("the brokers of the cluster cannot be looked up: %s", failure.value)

    def _answer_waiting(self, _: object) -> None:
        waiting, self._waiting = self._waiting, []
        for ready in waiting:
            ready.callback(None)


def _masters(answer: RemotingCommand) -> dict[str, str]:
    table = ClusterInfo.decode(accepted(answer).body).broker_addr_table
    return {
        name: data.broker_addrs[MASTER_ID] for name, data in table.items() if MASTER_ID in data.broker_addrs
    }


def _groups(answer: RemotingCommand) -> list[BrokerData]:
    table = ClusterInfo.decode(accepted(answer).body).broker_addr_table
    return [group for _, group in sorted(table.items())]


def _failed(why: str) -> RequestError:
    return RequestError(ResponseCode.SYSTEM_ERROR, why)
