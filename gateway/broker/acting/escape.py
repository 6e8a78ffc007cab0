"""Sends messages that a slave acting for its master may not write to another broker of the topic.

The queues are looked up at a name server, and cached for a few seconds; messages are sent to them round
robin. Checkpoints and acknowledgements of POP must meet again: all of one broker group are sent to the one
queue that its name hashes to, those that the master stored before its loss together with the slave's.
RocketMQ: `EscapeBridge.putMessageToRemoteBroker`, `putMessageToSpecificQueue`, where they need not meet.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.ha.escape import Sent
from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.message import PROPERTY_PRODUCER_GROUP, Message, format_properties, java_hash
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop.names import revive_topic
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.gateway.broker.cluster.name_servers import NameServers
from mqgateway.gateway.codec.bodies import TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import GetRouteInfoRequestHeader
from mqgateway.gateway.codec.headers.send import SendMessageRequestHeaderV2
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

SEND_SECONDS = 3.0
FRESH_SECONDS = 5.0
ROUTES_MAX = 1000
"""Maximum number of topics whose queues are cached."""
STORED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)


class RemoteQueue(NamedTuple):
    """A queue of another broker: the broker's name and address, and the queue id."""

    name: str
    address: str
    queue_id: int


class EscapeSender:
    """Sender to other brokers; `send` is passed to `engine.ha.escape.Escape`."""

    def __init__(self, options: BrokerOptions, clock: Clock, ask: Ask, name_servers: NameServers) -> None:
        self._options = options
        self._clock = clock
        self._ask = ask
        self._name_servers = name_servers
        self._places: dict[str, tuple[float, list[RemoteQueue]]] = {}
        self._turn = 0
        self._problem = ""

    def __len__(self) -> int:
        """Return the number of cached topics."""
        return len(self._places)

    def send(self, message: Message, sent: Sent) -> None:
        """Send a message; call `sent` with True if a broker has stored it."""

        def failed(failure: Failure) -> None:
            self._complain(f"topic {message.topic}: {failure.getErrorMessage()}")
            sent(False)

        def stored(_: object) -> None:
            self._problem = ""
            sent(True)

        maybeDeferred(self._find, message.topic).addCallback(self._send_to, message).addCallbacks(
            stored, failed
        )

    def _send_to(self, places: list[RemoteQueue], message: Message) -> Deferred[None]:
        place = self._choose(places, message)
        options = self._options
        own = f"InnerProducerGroup_{options.broker_name}_{options.broker_id}"
        header = SendMessageRequestHeaderV2(
            producer_group=message.properties.get(PROPERTY_PRODUCER_GROUP) or own,
            topic=message.topic,
            default_topic="TBW102",
            default_topic_queue_nums=8,
            queue_id=place.queue_id,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp,
            flag=message.flag,
            properties=format_properties(message.properties),
            reconsume_times=message.reconsume_times,
            batch=False,
        )
        command = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, header, message.body)

        def taken(answer: RemotingCommand) -> None:
            if answer.code not in STORED:
                raise RemotingError(f"broker {place.name} answers {answer.code}, {answer.remark}")

        def forget(failure: Failure) -> Failure:
            self._places.pop(message.topic, None)
            return failure

        return self._ask(place.address, command, SEND_SECONDS).addCallback(taken).addErrback(forget)

    def _choose(self, places: list[RemoteQueue], message: Message) -> RemoteQueue:
        if not places:
            raise RemotingError("no other broker has it")
        if message.topic == revive_topic(self._options.broker_cluster_name):
            return places[java_hash(f"{message.topic}/{self._options.broker_name}") % len(places)]
        self._turn += 1
        return places[self._turn % len(places)]

    def _find(self, topic: str) -> Deferred[list[RemoteQueue]]:
        known = self._places.get(topic)
        if known is not None and self._clock.monotonic() - known[0] < FRESH_SECONDS:
            return succeed(known[1])
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        command = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        return self._name_servers.ask(command).addCallback(self._found, topic)

    def _found(self, answer: RemotingCommand, topic: str) -> list[RemoteQueue]:
        route = TopicRouteData.decode(answer.body)
        masters = {
            data.broker_name: data.broker_addrs[MASTER_ID]
            for data in route.broker_datas
            if MASTER_ID in data.broker_addrs and data.broker_name != self._options.broker_name
        }
        places = [
            RemoteQueue(data.broker_name, masters[data.broker_name], queue_id)
            for data in sorted(route.queue_datas, key=lambda data: data.broker_name)
            if data.broker_name in masters and data.perm & PERM_WRITE
            for queue_id in range(data.write_queue_nums)
        ]
        if len(self._places) >= ROUTES_MAX:
            self._places.clear()
        self._places[topic] = self._clock.monotonic(), places
        return places

    def _complain(self, problem: str) -> None:
        """Log a problem once, until it changes."""
        if problem != self._problem:
            self._problem = problem
            log.warning("a message cannot be sent to another broker: %s", problem)
