"""The queues of topics in the whole cluster: looked up once, cached for a while, with failover."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.topics import PERM_WRITE, TopicConfig, TopicTable
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.broker.cluster.name_servers import NameServers
from mqgateway.gateway.broker.cluster.route_cache import Found, RouteCache
from mqgateway.gateway.codec.bodies import MessageQueue, QueueData, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import PeerGone

ONE, TWO = "ns1:9876", "ns2:9876"
ROUTE = TopicRouteData(
    queue_datas=[
        QueueData("a", read_queue_nums=2, write_queue_nums=4, perm=6),
        QueueData("b", read_queue_nums=1, write_queue_nums=1, perm=4),
        QueueData("c", read_queue_nums=8, write_queue_nums=8, perm=2),
    ]
)
QUEUES = [MessageQueue("T", "a", 0), MessageQueue("T", "a", 1), MessageQueue("T", "b", 0)]


class Cluster:
    """Name servers that answer by hand."""

    def __init__(self, servers: str = ONE) -> None:
        self.asked: list[tuple[str, str]] = []
        self._answers: list[Deferred[RemotingCommand]] = []
        options = BrokerOptions(broker_name="own", namesrv_addr=servers)
        self.topics = TopicTable(options, CrashDisk(), "/topics.json", ManualClock())
        self.queues = RouteCache(options, self.topics, NameServers(options, self._ask))

    def _ask(self, address: str, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        assert command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        assert timeout == 3.0
        self.asked.append((address, command.ext_fields["topic"]))
        self._answers.append(Deferred())
        return self._answers[-1]

    def of(self, topic: str) -> list[Found]:
        """Return a list that will have the answer of the cache."""
        reported: list[Found] = []
        self.queues.of(topic).addCallback(reported.append)
        return reported

    def answer(self, route: TopicRouteData | None = ROUTE, code: int = 0) -> None:
        """The oldest question is answered."""
        body = b"" if route is None else route.encode_standard()
        self._answers.pop(0).callback(RemotingCommand.response(code, body=body))

    def fail(self) -> None:
        """The oldest question gets no answer."""
        self._answers.pop(0).errback(PeerGone("away"))


def test_readable_queues_of_all_brokers_are_found() -> None:
    cluster = Cluster()
    reported = cluster.of("T")
    assert reported == []
    cluster.answer()
    assert reported == [QUEUES]


def test_concurrent_callers_share_one_request() -> None:
    cluster = Cluster()
    first, second = cluster.of("T"), cluster.of("T")
    cluster.answer()
    assert first == second == cluster.of("T") == [QUEUES]
    assert cluster.asked == [(ONE, "T")]


def test_unknown_topic_is_queried_each_time() -> None:
    cluster = Cluster()
    reported = cluster.of("T")
    cluster.answer(None, ResponseCode.TOPIC_NOT_EXIST)
    assert reported == [None]
    assert len(cluster.queues) == 0
    again = cluster.of("T")
    cluster.answer()
    assert again == [QUEUES]


def test_next_name_server_is_queried_if_one_fails() -> None:
    cluster = Cluster(f"{ONE};{TWO}")
    reported = cluster.of("T")
    cluster.fail()
    cluster.answer()
    assert reported == [QUEUES]
    assert cluster.asked == [(ONE, "T"), (TWO, "T")]


@pytest.mark.parametrize("code", [ResponseCode.SYSTEM_ERROR, ResponseCode.SUCCESS])
def test_refused_or_malformed_answer_counts_as_no_route(code: int) -> None:
    """A refusal, or a body that is no route."""
    cluster = Cluster()
    reported = cluster.of("T")
    cluster.answer(None, code)
    assert reported == [None]


def test_requested_route_is_refreshed() -> None:
    cluster = Cluster()
    cluster.of("T")
    cluster.answer()
    cluster.queues.refresh()
    cluster.answer(TopicRouteData(queue_datas=[QueueData("a", 1, 1, 6)]))
    assert cluster.of("T") == [QUEUES[:1]]
    assert len(cluster.asked) == 2


def test_cached_queues_are_used_without_answers() -> None:
    cluster = Cluster()
    cluster.of("T")
    cluster.answer()
    cluster.queues.refresh()
    reported = cluster.of("T")
    assert reported == [QUEUES], "without waiting"
    cluster.fail()
    assert cluster.of("T") == [QUEUES]


def test_deleted_topic_is_evicted_except_a_retry_topic() -> None:
    cluster = Cluster()
    for topic in ("T", "%RETRY%G"):
        cluster.of(topic)
        cluster.answer()
    cluster.queues.refresh()
    for _ in range(2):
        cluster.answer(None, ResponseCode.TOPIC_NOT_EXIST)
    assert len(cluster.queues) == 1
    assert cluster.of("%RETRY%G")[0]


def test_unused_route_is_evicted() -> None:
    """The first refresh still finds the request that loaded it."""
    cluster = Cluster()
    cluster.of("T")
    cluster.answer()
    cluster.queues.refresh()
    cluster.fail()
    cluster.queues.refresh()
    assert len(cluster.queues) == 0


def test_topics_are_refreshed_one_after_another() -> None:
    cluster = Cluster()
    for topic in ("T", "U"):
        cluster.of(topic)
        cluster.answer()
    cluster.queues.refresh()
    assert len(cluster.asked) == 3
    cluster.answer()
    assert len(cluster.asked) == 4
    cluster.answer()


def test_broker_without_name_servers_has_its_own_queues() -> None:
    cluster = Cluster("")
    cluster.topics.put(TopicConfig("T", 2, 3), TopicConfig("W", 1, 1, 2))
    assert cluster.of("T") == [[MessageQueue("T", "own", 0), MessageQueue("T", "own", 1)]]
    assert cluster.of("W") == [[]]
    assert cluster.of("U") == [None]


def test_writable_queues_are_cached_separately() -> None:
    cluster = Cluster("")
    cluster.topics.put(TopicConfig("T", 3, 1))
    options = BrokerOptions()
    writable = RouteCache(options, cluster.topics, NameServers(options, cluster._ask), PERM_WRITE)
    found: list[Found] = []
    for queues in (cluster.queues, writable):
        queues.of("T").addCallback(found.append)
    assert [len(each or ()) for each in found] == [3, 1]
