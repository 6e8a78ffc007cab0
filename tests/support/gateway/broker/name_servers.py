"""A broker's registration with name servers that answer by hand."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.ha.role import ReplicationRole, RoleKind
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.steps import run
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.broker.cluster.registration import BrokerRegistration
from mqgateway.gateway.codec.bodies import RegisterBrokerBody, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand

ONE, TWO = "ns1:9876", "ns2:9876"
REGISTER, UNREGISTER, QUERY = (
    RequestCode.REGISTER_BROKER,
    RequestCode.UNREGISTER_BROKER,
    RequestCode.QUERY_DATA_VERSION,
)


class Asked:
    """One request to a name server that waits for its answer."""

    def __init__(self, address: str, command: RemotingCommand, timeout: float) -> None:
        self.address = address
        self.command = command
        self.timeout = timeout
        self.answer: Deferred[RemotingCommand] = Deferred()

    @property
    def fields(self) -> dict[str, str]:
        return self.command.ext_fields

    @property
    def topics(self) -> dict[str, Any]:
        """Topics in the registration."""
        return self.reported.topic_config_table

    @property
    def version(self) -> DataVersion:
        """Data version of the registration."""
        return DataVersion.from_json(self.reported.data_version)

    @property
    def reported(self) -> TopicConfigAndMappingSerializeWrapper:
        """Topics with their version."""
        body = self.command.body
        topics: dict[str, Any] = {}
        if self.fields["compressed"] == "true":
            steps = RegisterBrokerBody.read_compressed(body, CURRENT_VERSION, 1 << 26, topics.__setitem__)
            wrapper = run(steps).topic_config_serialize_wrapper
            wrapper.topic_config_table = topics
            return wrapper
        return RegisterBrokerBody.decode(body).topic_config_serialize_wrapper

    def agree(self, body: bytes = b"", code: int = 0) -> None:
        self.answer.callback(RemotingCommand.response(code, body=body, remark="no" if code else None))


class World:
    """A registration whose name servers answer by hand."""

    def __init__(self, servers: str = ONE, **options: Any) -> None:
        self.wall = ManualClock()
        self.time = Clock()
        self.options = BrokerOptions(broker_name="b", namesrv_addr=servers, **options)
        self.topics = TopicTable(self.options, CrashDisk(millis=self.wall.millis), "/topics.json", self.wall)
        self.waiting: list[Asked] = []
        self.address, self.ha_address = "10.0.0.1:10911", "10.0.0.1:10912"
        self.role = ReplicationRole(
            RoleKind.SLAVE if self.options.broker_id else RoleKind.MASTER, self.options.broker_id
        )
        self.mappings = Mappings(
            self.options, CrashDisk(millis=self.wall.millis), "/mappings.json", self.wall
        )
        self.registration = BrokerRegistration(
            self.options,
            self.topics,
            self.mappings,
            self,
            self.time,
            role=self.role,
            reachable=self,
        )

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        asked = Asked(address, command, timeout)
        self.waiting.append(asked)
        return asked.answer

    def take(self) -> list[Asked]:
        """Return the requests since the last call."""
        waiting, self.waiting = self.waiting, []
        return waiting

    def agreed(self) -> list[Asked]:
        """Answer requests until there are no more, and return them."""
        found: list[Asked] = []
        while asked := self.take():
            found += asked
            for one in asked:
                one.agree()
        return found

    def one(self, code: int = REGISTER) -> Asked:
        """Return the only request that was made."""
        (asked,) = self.take()
        assert asked.command.code == code
        return asked

    def started(self) -> World:
        """Complete the first registration everywhere."""
        self.registration.start()
        for asked in self.take():
            asked.agree()
        return self

    def change(self, *names: str) -> None:
        """Create topics, which are announced at once."""
        for name in names:
            self.topics.put(TopicConfig(name, 4, 4))
            self.registration.soon(name)
        self.time.advance(0.01)
