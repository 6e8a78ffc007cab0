"""Copies of topics and groups of this broker at other brokers that lack them, before it is removed.

What exists at the other brokers is not changed. Left out are topics that each broker makes itself (system
topics, retries, dead letters) and topics that are fixed to a broker (static topics, topics of Kafka).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.cluster.topic_changes import creation_request
from mqgateway.gateway.broker.tables import Tables
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.remoting.call import RequestError

log = logging.getLogger(__name__)


def shared_topics(topics: TopicTable, mappings: Mappings) -> Iterator[TopicConfig]:
    """Yield the topics that other brokers can have too."""
    for config in topics.all():
        name = config.topic_name
        is_own = topics.is_system(name) or name.startswith((RETRY_PREFIX, DLQ_PREFIX))
        if not is_own and name not in mappings and not config.keeps_kafka_batches:
            yield config


async def copy_tables(directory: BrokerDirectory, tables: Tables, names: Sequence[str]) -> None:
    """Create the topics and groups of this broker at the brokers `names` that lack them.

    Raises `RequestError` if a broker does not answer, refuses, or answers with what is not valid.
    """
    for name in names:
        address = await directory.address(name)
        try:
            count = await _copy_to(directory, tables, address)
        except (RequestError, BodyError) as error:
            raise RequestError(ResponseCode.SYSTEM_ERROR, f"{name}: {error}") from None
        if count:
            log.info("%s was given %d topics and groups that only this broker had", name, count)


async def _copy_to(directory: BrokerDirectory, tables: Tables, address: str) -> int:
    """Return the number of topics and groups that the broker at an address lacked."""
    topics = (await directory.topics(address)).topic_config_table
    groups = await directory.groups_of(address)
    requests = [
        creation_request(replace(config, attributes=_as_changes(config.attributes)))
        for config in shared_topics(tables.topics, tables.mappings)
        if config.topic_name not in topics
    ]
    requests += [
        RemotingCommand.request(
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
            body=dumps(replace(group, attributes=_as_changes(group.attributes)).to_json()),
        )
        for group in tables.groups.all()
        if group.group_name not in groups
    ]
    for request in requests:
        await directory.request(address, request)
    return len(requests)


def _as_changes(attributes: dict[str, str]) -> dict[str, str]:
    return {f"+{key}": value for key, value in attributes.items()}
