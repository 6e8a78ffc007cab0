"""Reads messages of another broker group whose POP checkpoints are stored here.

That group's master is lost, or was when the checkpoints were sent: the member with the smallest id is
queried. RocketMQ: `EscapeBridge.getMessageFromRemoteAsync`.
"""

from __future__ import annotations

import logging

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop.foreign import Ended, Found, MessageLocation, Missing
from mqgateway.engine.store.record import decode
from mqgateway.gateway.broker.cluster.name_servers import NameServers
from mqgateway.gateway.codec.bodies import TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import GetRouteInfoRequestHeader, PullMessageRequestHeader
from mqgateway.gateway.codec.headers.pull import FLAG_SUBSCRIPTION
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

PULL_SECONDS = 10.0


class ForeignReader:
    """Reader of other groups' messages; `read` is passed to `engine.pop.foreign.ForeignMessages`."""

    def __init__(self, options: BrokerOptions, ask: Ask, name_servers: NameServers) -> None:
        self._options = options
        self._ask = ask
        self._name_servers = name_servers

    def read(self, place: MessageLocation, ended: Ended) -> None:
        """Fetch one message; call `ended` with the message, or the reason why it is missing."""

        def failed(failure: Failure) -> None:
            log.info("message %s cannot be fetched: %s", place, failure.getErrorMessage())
            ended(Missing.FAILED)

        header = GetRouteInfoRequestHeader(topic=place.topic, accept_standard_json_only=True)
        command = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        asked = self._name_servers.ask(command)
        asked.addCallback(self._pull, place).addCallback(_message, place).addCallbacks(ended, failed)

    def _pull(self, route: RemotingCommand, place: MessageLocation) -> Deferred[RemotingCommand]:
        addresses: dict[int, str] = {}
        for data in TopicRouteData.decode(route.body).broker_datas:
            if data.broker_name == place.broker_name:
                addresses = data.broker_addrs
        if not addresses:
            raise RemotingError("no member of that group is connected")
        options = self._options
        header = PullMessageRequestHeader(
            consumer_group=f"InnerConsumerGroup_{options.broker_name}_{options.broker_id}",
            topic=place.topic,
            queue_id=place.queue_id,
            queue_offset=place.offset,
            max_msg_nums=1,
            sys_flag=FLAG_SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription="*",
            sub_version=0,
        )
        command = RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
        return self._ask(addresses[min(addresses)], command, PULL_SECONDS)


def _message(answer: RemotingCommand, place: MessageLocation) -> Found:
    if answer.code == ResponseCode.PULL_OFFSET_MOVED:
        return Missing.GONE
    stored = decode(answer.body) if answer.code == ResponseCode.SUCCESS and answer.body else None
    if stored is None:
        raise RemotingError(f"it answers {answer.code}, {answer.remark}")
    return Missing.GONE if stored.queue_offset > place.offset else stored
