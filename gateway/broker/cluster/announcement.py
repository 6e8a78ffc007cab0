"""Requests that announce this broker to name servers; each is built from the state when it is sent.

RocketMQ: `BrokerOuterAPI`, `TopicConfigManager.buildSerializeWrapper`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from mqgateway.engine.ha.role import ReplicationRole
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig, TopicTable
from mqgateway.gateway.codec.bodies import RegisterBrokerBody, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    DeleteTopicFromNamesrvRequestHeader,
    QueryDataVersionRequestHeader,
    RegisterBrokerRequestHeader,
    UnRegisterBrokerRequestHeader,
)

TOPICS_A_PERIOD = 10_000
"""Topics announced again with each period; with more topics, all are announced proportionally less often."""
TOPICS_A_REQUEST = 20_000
"""Topics announced in one request; more topics are sent in parts, one after another.

Building a larger request blocks the event loop, and 90,000 topics do not fit into a frame. The parts are sent
as with `enableSplitRegistration`.
"""
TOPICS_A_PART = 5000


class Reachable(Protocol):
    """Addresses that a broker announces; both may change while it runs."""

    @property
    def address(self) -> str:
        """Address for clients."""

    @property
    def ha_address(self) -> str:
        """Address for slaves."""


class AnnouncedBroker(NamedTuple):
    """Names and address by which a name server identifies a broker."""

    cluster: str
    name: str
    address: str


class Announcement:
    """Announcement of this broker, its topics and their mappings."""

    def __init__(
        self,
        options: BrokerOptions,
        topics: TopicTable,
        mappings: Mappings,
        role: ReplicationRole,
        reachable: Reachable,
    ) -> None:
        self._options = options
        self._topics = topics
        self._mappings = mappings
        self._role = role
        self._reachable = reachable
        self.takes_messages = True
        """True if producers may send here, as far as topics and settings allow it."""

    @property
    def identity(self) -> AnnouncedBroker:
        """The current identity of the broker."""
        options = self._options
        return AnnouncedBroker(options.broker_cluster_name, options.broker_name, self._reachable.address)

    def registrations(self, names: Iterable[str] | None) -> Iterator[RemotingCommand]:
        """Yield the requests that announce these topics, or all, each built when it is needed.

        There is one request, unless registration is split or there are very many topics. A name server
        accepts an announcement only with another data version than the last one, so the parts of a split
        registration differ in their times; the last has the table's own version. RocketMQ:
        `TopicConfigManager.buildSerializeWrapper`, which raises the version with every part.
        """
        options = self._options
        acts = options.enable_slave_acting_master
        if names is None:
            configs = list(self._topics.all())
        else:
            configs = [config for name in names if (config := self._topics.get(name)) is not None]
            if not configs:
                return
        step = options.split_registration_size if options.enable_split_registration else 0
        if step <= 0 and len(configs) > TOPICS_A_REQUEST:
            step = TOPICS_A_PART
        chunks = list(_chunks(configs, step))
        version = self.version
        for remaining, chunk in zip(reversed(range(len(chunks))), chunks, strict=True):
            reported = RegisterBrokerBody(
                TopicConfigAndMappingSerializeWrapper(
                    topic_config_table={config.topic_name: self._as_reported(config) for config in chunk},
                    topic_queue_mapping_info_map={
                        config.topic_name: mapping.info()
                        for config in chunk
                        if (mapping := self._mappings.table.get(config.topic_name)) is not None
                    },
                    data_version=replace(version, timestamp=version.timestamp - remaining).to_json(),
                )
            )
            body = reported.encode_compressed() if options.compressed_register else reported.encode()
            header = RegisterBrokerRequestHeader(
                broker_name=options.broker_name,
                broker_addr=self._reachable.address,
                cluster_name=options.broker_cluster_name,
                ha_server_addr=self._reachable.ha_address,
                broker_id=self._role.state.broker_id,
                heartbeat_timeout_millis=options.broker_not_active_timeout_millis if acts else None,
                enable_acting_master=acts,
                compressed=options.compressed_register,
                body_crc32=zlib.crc32(body) & 0x7FFFFFFF,
            )
            yield RemotingCommand.request(RequestCode.REGISTER_BROKER, header, body)

    def version_query(self, reported: DataVersion | None = None, *, oneway: bool = False) -> RemotingCommand:
        """Return the request that queries whether a name server has the topics of this version.

        With `oneway` it only shows that this broker is alive.
        """
        options = self._options
        header = QueryDataVersionRequestHeader(
            broker_name=options.broker_name,
            broker_addr=self._reachable.address,
            cluster_name=options.broker_cluster_name,
            broker_id=self._role.state.broker_id,
        )
        version = reported or self._topics.data_version
        return RemotingCommand.request(
            RequestCode.QUERY_DATA_VERSION, header, version.encode(), oneway=oneway
        )

    @property
    def version(self) -> DataVersion:
        """The current data version of the topics."""
        return replace(self._topics.data_version)

    @property
    def periods(self) -> int:
        """Number of periods in which all topics are announced once: 1, unless there are very many."""
        return 1 + len(self._topics) // TOPICS_A_PERIOD

    def farewell(self, identity: AnnouncedBroker) -> RemotingCommand:
        """Return the request that unregisters this broker, which the name server has as `identity`."""
        header = UnRegisterBrokerRequestHeader(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            broker_id=self._role.state.broker_id,
        )
        return RemotingCommand.request(RequestCode.UNREGISTER_BROKER, header)

    def withdrawal(self, topic: str) -> RemotingCommand:
        """Return the request that removes a topic of this cluster from a name server."""
        header = DeleteTopicFromNamesrvRequestHeader(topic=topic, cluster_name=self.identity.cluster)
        return RemotingCommand.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, header)

    def _as_reported(self, config: TopicConfig) -> dict[str, Any]:
        """Return a topic's configuration, with its permission limited to the broker's."""
        reported = config.to_json()
        permission = self._options.broker_permission
        if not self.takes_messages:
            permission &= ~PERM_WRITE
        if not (permission & PERM_READ and permission & PERM_WRITE):
            reported["perm"] &= permission
        return reported


def _chunks(configs: Sequence[TopicConfig], step: int) -> Iterator[Sequence[TopicConfig]]:
    if step <= 0:
        yield configs
        return
    for start in range(0, len(configs), step):
        yield configs[start : start + step]
