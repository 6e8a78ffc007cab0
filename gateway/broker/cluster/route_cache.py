"""Cached routes: the queues of a topic on all its brokers, or its whole route, as name servers have them.

A topic is looked up on its first query, and again periodically (`refresh`) as long as it is queried; queries
meanwhile return the cached route. A broker without name servers has its own queues only. RocketMQ:
`TopicRouteInfoManager`.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.topics import PERM_READ, TopicTable
from mqgateway.gateway.broker.cluster.announcement import Reachable
from mqgateway.gateway.broker.cluster.name_servers import NameServers, accepted
from mqgateway.gateway.codec.bodies import BrokerData, MessageQueue, QueueData, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import GetRouteInfoRequestHeader

log = logging.getLogger(__name__)

Found = Sequence[MessageQueue] | None
"""The queues, by broker and number; None for a topic that no broker has."""


R = TypeVar("R", bound=Sequence[MessageQueue] | TopicRouteData)


class _Cache(ABC, Generic[R]):
    """Cache of the topics that were queried lately."""

    def __init__(self, options: BrokerOptions, topics: TopicTable, name_servers: NameServers) -> None:
        self._options = options
        self._topics = topics
        self._name_servers = name_servers
        self._known: dict[str, R] = {}
        self._wanted: set[str] = set()
        self._waiting: dict[str, list[Deferred[R | None]]] = {}
        self._due: list[str] = []

    @abstractmethod
    def _own(self, topic: str) -> R | None:
        """Return the broker's own part of a topic."""

    @abstractmethod
    def _read(self, route: TopicRouteData, topic: str) -> R:
        """Extract the value from a route."""

    def of(self, topic: str) -> Deferred[R | None]:
        """Return the value of a topic, None if no broker has it; never fails."""
        known = self._known.get(topic)
        if not known:
            return self._look_up(topic)
        self._wanted.add(topic)
        return succeed(known)

    def refresh(self) -> None:
        """Look up again, one after another, the topics queried since the last refresh; evict the others."""
        self._known = {topic: found for topic, found in self._known.items() if topic in self._wanted}
        is_idle = not self._due
        self._due = list(self._known)
        self._wanted.clear()
        if is_idle:
            self._refresh_next(None)

    def __len__(self) -> int:
        return len(self._known)

    def _refresh_next(self, _: object) -> None:
        if self._due:
            self._look_up(self._due.pop()).addCallback(self._refresh_next)

    def _look_up(self, topic: str) -> Deferred[R | None]:
        if not self._name_servers.addresses:
            return succeed(self._own(topic))
        answer: Deferred[R | None] = Deferred()
        waiting = self._waiting.setdefault(topic, [])
        waiting.append(answer)
        if len(waiting) == 1:
            self._ask_name_servers(topic)
        return answer

    def _ask_name_servers(self, topic: str) -> None:
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        command = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)

        def failed(failure: Failure) -> None:
            log.warning("the queues of topic %s cannot be looked up: %s", topic, failure.value)
            self._notify(topic, self._known.get(topic))

        def read(answer: RemotingCommand) -> R | None:
            """Raise `RemotingError` or `BodyError` if the answer contains no route."""
            if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                return None
            return self._read(TopicRouteData.decode(accepted(answer).body), topic)

        asked = self._name_servers.read(command, read)
        asked.addCallbacks(lambda found: self._take(topic, found), failed)

    def _take(self, topic: str, found: R | None) -> None:
        if found:
            self._known[topic] = found
            self._wanted.add(topic)
        elif not topic.startswith(RETRY_PREFIX):
            self._known.pop(topic, None)
        self._notify(topic, self._known.get(topic, found))

    def _notify(self, topic: str, found: R | None) -> None:
        for answer in self._waiting.pop(topic):
            answer.callback(found)


class RouteCache(_Cache[Sequence[MessageQueue]]):
    """Queues of topics, by broker and number; with `perm` 2 those that can be written.

    RocketMQ: `MQClientInstance.topicRouteData2TopicSubscribeInfo`.
    """

    def __init__(
        self, options: BrokerOptions, topics: TopicTable, name_servers: NameServers, perm: int = PERM_READ
    ) -> None:
        super().__init__(options, topics, name_servers)
        self._perm = perm

    def _own(self, topic: str) -> Found:
        config = self._topics.get(topic)
        if config is None:
            return None
        nums = config.read_queue_nums if self._perm == PERM_READ else config.write_queue_nums
        count = nums if config.perm & self._perm else 0
        return [MessageQueue(topic, self._options.broker_name, queue_id) for queue_id in range(count)]

    def _read(self, route: TopicRouteData, topic: str) -> Sequence[MessageQueue]:
        brokers = sorted(route.queue_datas, key=lambda data: data.broker_name)
        return [
            MessageQueue(topic, data.broker_name, queue_id)
            for data in brokers
            if data.perm & self._perm
            for queue_id in range(data.read_queue_nums if self._perm == PERM_READ else data.write_queue_nums)
        ]


class TopicRoutes(_Cache[TopicRouteData]):
    """Whole routes; `reachable` has the address of this broker, as name servers have it."""

    def __init__(
        self, options: BrokerOptions, topics: TopicTable, name_servers: NameServers, reachable: Reachable
    ) -> None:
        super().__init__(options, topics, name_servers)
        self._reachable = reachable

    def route(self, topic: str) -> Deferred[TopicRouteData | None]:
        """Return the route of a topic; if name servers have none yet, the broker's own."""
        return self.of(topic).addCallback(lambda found: found or self._own(topic))

    def _own(self, topic: str) -> TopicRouteData | None:
        config, options = self._topics.get(topic), self._options
        if config is None:
            return None
        name, perm = options.broker_name, config.perm & options.broker_permission
        queues = QueueData(name, config.read_queue_nums, config.write_queue_nums, perm, config.topic_sys_flag)
        broker = BrokerData(options.broker_cluster_name, name, {options.broker_id: self._reachable.address})
        return TopicRouteData([queues], [broker])

    def _read(self, route: TopicRouteData, topic: str) -> TopicRouteData:
        return route
