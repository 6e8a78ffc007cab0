"""Knowledge of a broker about the others, put together."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.ha.role import ReplicationRole
from mqgateway.engine.options import BrokerOptions, BrokerRole, StoreOptions
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.cluster.state import ClusterState
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.tables import Tables
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand


class Scene:
    """Cluster state of a broker; its requests are in `asked`, the answers to give in `answers`."""

    def __init__(self, namesrv_addr: str = "names:9876") -> None:
        options = BrokerOptions(namesrv_addr=namesrv_addr, broker_name="b", broker_ip1="10.0.0.1")
        store_options = StoreOptions(store_path_root_dir="/store")
        disk, clock, worker = CrashDisk(), ManualClock(), InlineWorker()
        environment = BrokerEnvironment(options, store_options, disk, clock, worker, 10911, 10912)
        self.asked: list[RemotingCommand] = []
        self.answers: list[Deferred[RemotingCommand]] = []
        self.time = Clock()
        self.tables = Tables(environment, lambda: (0, 0))
        role = ReplicationRole.initial(BrokerRole.ASYNC_MASTER, 0)
        self.cluster = ClusterState(environment, self.tables, role, self, self.time)

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        """See `Caller`."""
        self.asked.append(command)
        self.answers.append(Deferred())
        return self.answers[-1]


def test_changed_topic_is_registered_soon() -> None:
    scene = Scene()
    scene.cluster.registration.start()
    scene.answers[0].callback(RemotingCommand.response(0))
    scene.asked.clear()
    scene.tables.topics.put(TopicConfig("T"))
    assert scene.asked == []
    scene.time.advance(1)
    [reported] = scene.asked
    assert (reported.code, b'"T"' in reported.body) == (RequestCode.REGISTER_BROKER, True)


def test_readable_and_writable_queues_are_looked_up_separately() -> None:
    scene = Scene(namesrv_addr="")
    scene.tables.topics.put(TopicConfig("T", read_queue_nums=2, write_queue_nums=3))
    found: list[int] = []
    for routes in (scene.cluster.route_cache, scene.cluster.writable_routes):
        routes.of("T").addCallback(lambda queues: found.append(len(queues or ())))
    assert found == [2, 3]
    assert (PERM_READ, PERM_WRITE) == (4, 2)


def test_both_caches_are_refreshed() -> None:
    scene = Scene()
    for routes in (scene.cluster.route_cache, scene.cluster.writable_routes):
        routes._known["T"], routes._wanted = [], {"T"}
    scene.cluster.refresh_routes()
    assert [command.code for command in scene.asked] == [RequestCode.GET_ROUTEINFO_BY_TOPIC] * 2
