"""Old pieces of static topics' queues are forgotten, at the hours when old files are deleted.

First pieces that have no messages any more, which their brokers are asked for; and what is known here of
queues that have since moved on from the broker that took them over.
Standard: `TopicQueueMappingCleanService`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from datetime import datetime
from typing import Any

from twisted.internet.defer import Deferred, inlineCallbacks

from mqgateway.engine import json_members, lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.static_topics.mappings import TopicMapping
from mqgateway.engine.static_topics.pieces import Piece
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import MessageQueue, TopicOffset, TopicRouteData, TopicStatsTable
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.codec.headers import (
    GetRouteInfoRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
)
from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

CLEAN_SECONDS = 300.0
UNCLEAN = (RequestError, RemotingError, HeaderError, ConfigError, ValueError)
"""What a topic is left alone for until the next time: somebody does not answer, or not sensibly."""


def is_time(broker: Broker) -> bool:
    """Whether old things are deleted at this hour. Standard: `UtilAll.isItTimeToDo`."""
    hour = datetime.fromtimestamp(broker.clock.millis() / 1000).hour
    words = broker.store_options.delete_when.replace(" ", "").split(";")
    return any(word.isdecimal() and int(word) == hour for word in words)


@inlineCallbacks
def clean(broker: Broker) -> Generator[Deferred[Any], Any, None]:
    """Look through all static topics once; never fails."""
    for topic in list(broker.mappings.table):
        for forget in (_forget_empty, _forget_moved):
            mapping = broker.mappings.table.get(topic)
            if mapping is None:
                break
            try:
                found: Mapping[int, list[Piece]] = yield forget(broker, mapping)
            except UNCLEAN as error:
                log.info("the mapping of static topic %s is not cleaned: %s", topic, error)
                continue
            # What was changed while others were asked is left for the next time.
            if found and broker.mappings.table.get(topic) is mapping:
                queues = ", ".join(map(str, sorted(found)))
                log.info("old pieces of static topic %s are forgotten, queues %s", topic, queues)
                broker.mappings.clean(topic, found)


@inlineCallbacks
def _forget_empty(
    broker: Broker, mapping: TopicMapping
) -> Generator[Deferred[Any], Any, Mapping[int, list[Piece]]]:
    """What is left of queues that are led here, and have a first piece without messages."""
    moved = {
        number: pieces
        for number, pieces in mapping.queues.items()
        if len(pieces) > 1 and mapping.leads(number)
    }
    ends = {}
    for name in sorted({pieces[0].broker_name for pieces in moved.values()} - {mapping.broker_name}):
        ends[name] = yield _ends(broker, mapping.topic, name)
    left = {}
    for number, pieces in moved.items():
        first = pieces[0]
        if first.broker_name == mapping.broker_name:
            store = broker.store
            least = store.min_offset(mapping.topic, first.queue_id)
            end = TopicOffset(least, store.max_offset(mapping.topic, first.queue_id))
        else:
            queue = MessageQueue(mapping.topic, first.broker_name, first.queue_id)
            end = ends[first.broker_name].get(queue)
        if end is not None and end.max_offset in (0, end.min_offset):
            left[number] = pieces[1:]
    return left


def _ends(broker: Broker, topic: str, name: str) -> Deferred[dict[MessageQueue, TopicOffset]]:
    """Both ends of each queue that a broker has of the topic."""
    header = GetTopicStatsInfoRequestHeader(topic=topic, lo=False, bname=name)
    command = RemotingCommand.request(RequestCode.GET_TOPIC_STATS_INFO, header)
    asked = broker.neighbours.ask(name, command).addCallback(_body)
    return asked.addCallback(lambda body: TopicStatsTable.decode(body).offset_table)


@inlineCallbacks
def _forget_moved(
    broker: Broker, mapping: TopicMapping
) -> Generator[Deferred[Any], Any, Mapping[int, list[Piece]]]:
    """Nothing, for queues that moved from here to a broker from which they moved on."""
    given = {
        number: pieces[-1].broker_name
        for number, pieces in mapping.queues.items()
        if pieces and not mapping.leads(number)
    }
    if not given:
        return {}
    leaders = yield _leaders(broker, mapping)
    known: dict[str, TopicMapping] = {}
    for name in sorted({leaders[number] for number in given if number in leaders} - {mapping.broker_name}):
        known[name] = yield _mapping(broker, mapping.topic, name)
    return {
        number: []
        for number, name in given.items()
        if (leader := leaders.get(number)) in known
        and leader != name
        and _agrees(known[leader], mapping, number)
    }


def _agrees(told: TopicMapping, mapping: TopicMapping, number: int) -> bool:
    """Whether a leader's own word is that it leads a queue, in the same state of the topic."""
    same = (told.total_queues, told.epoch) == (mapping.total_queues, mapping.epoch)
    return same and told.leads(number)


def _leaders(broker: Broker, mapping: TopicMapping) -> Deferred[dict[int, str]]:
    """Who leads the queues of a topic, as the name servers know it."""
    header = GetRouteInfoRequestHeader(topic=mapping.topic, accept_standard_json_only=True)
    command = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)

    def read(body: bytes) -> dict[int, str]:
        told = TopicRouteData.decode(body).topic_queue_mapping_by_broker or {}
        leaders: dict[int, tuple[int, str]] = {}
        for info in told.values():
            says = (
                json_members.read(info, "epoch", 0, json_members.LONG_BITS),
                json_members.read_name(info, "bname"),
            )
            for number in map(int, json_members.read(info, "currIdMap", dict[str, Any]())):
                leaders[number] = max(leaders.get(number, says), says)
        return {number: name for number, (_, name) in leaders.items()}

    return broker.neighbours.ask_name_server(command).addCallback(_body).addCallback(read)


def _mapping(broker: Broker, topic: str, name: str) -> Deferred[TopicMapping]:
    """What a broker knows of a topic."""
    header = GetTopicConfigRequestHeader(topic=topic, lo=True, bname=name)
    command = RemotingCommand.request(RequestCode.GET_TOPIC_CONFIG, header)

    def read(body: bytes) -> TopicMapping:
        return TopicMapping.from_json((lenient_json.loads(body) or {}).get("mappingDetail") or {})

    return broker.neighbours.ask(name, command).addCallback(_body).addCallback(read)


def _body(answer: RemotingCommand) -> bytes:
    if answer.code != ResponseCode.SUCCESS:
        raise RequestError(answer.code, f"it is answered {answer.code}, {answer.remark}")
    return answer.body
