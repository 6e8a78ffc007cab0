"""A cluster in memory that answers as name servers and brokers do, and the environment of a migration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from mqgateway.engine.options import load_properties
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client.errors import Unreachable
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import GetMetaDataResponseHeader
from mqgateway.gateway.migration.handover import ProcessAction
from mqgateway.gateway.migration.plan import GroupPlan, Progress, Side, Way

OLD, NEW = "10.0.0.1:10911", "10.0.0.2:10911"
IDLE, LEADER = "10.0.0.3:9878", "10.0.0.4:9878"


@dataclass
class FakeBroker:
    """One broker: its settings, log and tables, and whether it runs."""

    settings: dict[str, str]
    log: list[int] = field(default_factory=lambda: [0, 1000])
    topics: dict[str, TopicConfig] = field(default_factory=dict)
    groups: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    is_up: bool = True
    version: str = "V5_5_0"


class FakeCluster:
    """Replaces `Servers` for the brokers of one group."""

    def __init__(self) -> None:
        self.old = FakeBroker({"brokerRole": "ASYNC_MASTER", "brokerPermission": "6", "brokerName": "a"})
        self.old.settings |= {
            "inSyncReplicas": "1",
            "brokerClusterName": "C",
            "storePathRootDir": "/old",
            "listenPort": "10911",
        }
        self.old.topics = {"T": TopicConfig("T"), "R": TopicConfig("R", perm=4)}
        self.old.groups = {"G": SubscriptionGroupConfig("G")}
        self.old.offsets = {"T@G": {0: 7}}
        self.new = FakeBroker({"brokerRole": "SLAVE"}, log=[0, 0], is_up=False)
        self.brokers = {OLD: self.old, NEW: self.new}
        self.members = {0: OLD}
        self.perms = {"T": 6, "R": 4}
        self.others: list[bodies.QueueData] = [bodies.QueueData("b", 4, 4, 6)]
        self.in_sync = True
        self.asked: list[tuple[str, str]] = []

    def clusters(self) -> bodies.ClusterInfo:
        return bodies.ClusterInfo({"a": bodies.BrokerData("C", "a", dict(self.members))}, {"C": {"a"}})

    def part(self, server: str) -> Any:
        return nullcontext()

    def change_names(self, question: Any) -> None:
        assert question.code is RequestCode.WIPE_WRITE_PERM_OF_BROKER
        self.asked.append(("names", question.code.name))
        self.perms = {topic: perm & ~2 for topic, perm in self.perms.items()}

    def ask_names(self, question: Any) -> Any:
        if question.code is RequestCode.GET_ROUTEINFO_BY_TOPIC:
            topic = question.header.topic
            return bodies.TopicRouteData([bodies.QueueData("a", 4, 4, self.perms[topic]), *self.others])
        return set()

    def ask(self, question: Any, address: str, timeout: float | None = None) -> Any:
        broker = self.brokers[address]
        if not broker.is_up:
            raise Unreachable(f"{address} cannot be reached")
        answers: dict[RequestCode, Callable[[FakeBroker], Any]] = {
            RequestCode.GET_BROKER_RUNTIME_INFO: self._figures,
            RequestCode.GET_BROKER_CONFIG: lambda one: dict(one.settings),
            RequestCode.GET_ALL_TOPIC_CONFIG: lambda one: dict(one.topics),
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: lambda one: dict(one.groups),
            RequestCode.GET_ALL_CONSUMER_OFFSET: lambda one: {
                key: dict(of) for key, of in one.offsets.items()
            },
            RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: lambda one: {},
            RequestCode.GET_BROKER_HA_STATUS: self._replication,
            RequestCode.CONTROLLER_GET_METADATA_INFO: lambda one: GetMetaDataResponseHeader(
                is_leader=address == LEADER
            ),
            RequestCode.CONTROLLER_GET_SYNC_STATE_DATA: lambda one: {"a": self._set()},
        }
        if question.code is RequestCode.CONTROLLER_ELECT_MASTER:
            return self._elect(question.header.broker_id)
        if question.code is RequestCode.UPDATE_BROKER_CONFIG:
            changed = {one.key: one.value for one in load_properties(question.body.decode(), "")}
            self.asked.append((address, f"{changed}"))
            broker.settings |= changed
            if "brokerPermission" in changed:
                self._announce(broker)
            return None
        return answers[question.code](broker)

    def with_controllers(self) -> None:
        """Add two controllers, the second of which leads."""
        self.old.settings |= {"enableControllerMode": "true", "controllerAddr": f"{IDLE};{LEADER}"}
        self.old.settings |= {"allAckInSyncStateSet": "false", "minInSyncReplicas": "1"}
        self.new.settings |= self.old.settings
        self.brokers |= {IDLE: FakeBroker({}), LEADER: FakeBroker({})}

    def _set(self) -> bodies.ReplicasInfo:
        """Return the sync-state set: members with all of the master's log. A replica's id is its position
        among the brokers."""
        end = self.brokers[self.members[0]].log[1]
        return bodies.ReplicasInfo(
            in_sync_replicas=[
                bodies.ReplicaIdentity("a", number, address, True)
                for number, address in enumerate(self.brokers, 1)
                if address in self.members.values() and self.brokers[address].log[1] == end
            ]
        )

    def _elect(self, broker_id: int) -> None:
        address = list(self.brokers)[broker_id - 1]
        self.asked.append((address, "elected"))
        self.members = {0: address, 1: self.members[0]}
        self._announce(self.brokers[address])

    def _announce(self, broker: FakeBroker) -> None:
        self.perms = {name: one.perm for name, one in broker.topics.items()}

    def _figures(self, broker: FakeBroker) -> dict[str, str]:
        first, end = map(str, broker.log)
        return {
            "commitLogMinOffset": first,
            "commitLogMaxOffset": end,
            "brokerVersionDesc": broker.version,
        }

    def _replication(self, broker: FakeBroker) -> bodies.HARuntimeInfo:
        followers = [one for one in self.members if one]
        connections = [
            bodies.HAConnectionRuntimeInfo(f"10.0.0.9:{one}", in_sync=self.in_sync) for one in followers
        ]
        return bodies.HARuntimeInfo(master=True, ha_connection_info=connections)

    def replicate(self) -> None:
        """Copy the master's data to its slaves."""
        master = self.brokers[self.members[0]]
        for number, address in self.members.items():
            if number:
                slave = self.brokers[address]
                slave.log = [slave.log[0], master.log[1]]
                slave.topics, slave.groups = dict(master.topics), dict(master.groups)
                slave.offsets = {key: dict(of) for key, of in master.offsets.items()}


class FakeWorld:
    """Time that passes during waits, and an operator who does as asked while `is_obedient`."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.servers: Any = cluster
        self.progress = Progress()
        self.kept = b""
        self.now = 0.0
        self.said: list[str] = []
        self.acts: list[tuple[ProcessAction, str]] = []
        self.is_obedient = True
        self.replicates = True
        self.on_act: Callable[[ProcessAction, str], None] = lambda act, address: None

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
        assert self.now < 1000, f"waits for ever: {self.said[-1]}"
        if self.replicates and 0 in self.cluster.members:
            self.cluster.replicate()

    def report(self, group: str, step: str, what: str) -> None:
        self.said.append(f"{step}: {what}")

    def keep(self) -> None:
        self.kept = self.progress.encode()

    def begin_again(self) -> None:
        """Resume with the kept progress, as the next process does."""
        self.progress = Progress.decode(self.kept, "kept")

    def act(self, group: str, side: Side, act: ProcessAction) -> None:
        self.acts.append((act, side.address))
        self.on_act(act, side.address)
        if self.is_obedient:
            self.obey(act, side.address)

    def obey(self, act: ProcessAction, address: str) -> None:
        """Start or stop a broker and update the name servers."""
        cluster = self.cluster
        broker = cluster.brokers[address]
        broker.is_up = act is not ProcessAction.END
        cluster.members = {number: one for number, one in cluster.members.items() if one != address}
        if act is ProcessAction.BEGIN_SLAVE:
            cluster.members[1] = address
        elif act is ProcessAction.BEGIN_MASTER:
            cluster.members[0] = address
            broker.settings["brokerRole"] = "SYNC_MASTER" if address == NEW else "ASYNC_MASTER"
            cluster._announce(broker)


def group_plan(way: Way = Way.REPLICATE, *, drain: bool = True) -> GroupPlan:
    """Return the plan of group `a`, from `OLD` to `NEW`."""
    return GroupPlan("a", "C", way, Side(OLD), Side(OLD if way is Way.IN_PLACE else NEW), drain=drain)
