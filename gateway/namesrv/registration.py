"""Data types of broker registration, passed between requests and tables.

`Registration` and `Leaving` are inputs, `RegistrationResult` and `MinBrokerIdNotice` results; `LiveBroker` is
the state of a registered broker. The JSON of a registration is parsed by `read_queues`, topic by topic, and
by `read_mappings`. If any part is invalid, the whole registration is refused.
RocketMQ: `RouteInfoManager`, `TopicConfig`, `TopicQueueMappingInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE
from mqgateway.gateway.codec.bodies import Body, QueueData
from mqgateway.gateway.codec.bodies.body import body
from mqgateway.gateway.codec.errors import BodyError

INT_MIN, INT_MAX = -(2**31), 2**31 - 1

NAME_LENGTH_MAX = 1024
"""Maximum length of names and addresses in characters, far above the longest legal ones."""

FILTER_SERVERS_MAX = 100
"""Maximum number of filter servers of a broker; 5.x uses none."""

DEFAULT_HEARTBEAT_TIMEOUT = 120_000
"""Time in ms after which a silent broker is removed, unless its registration sets another."""


class BrokerKey(NamedTuple):
    """Identity of a broker process, regardless of its current name and id."""

    cluster: str
    address: str


@dataclass(slots=True)
class LiveBroker:
    """State of a live broker. Times in ms of a monotonic clock.

    `peer` is the connection of its last registration, `host` the address that it comes from. `fingerprint`
    identifies the content of that registration, `changes` the count of table changes at that time.
    """

    name: str
    last_update: int
    heartbeat_timeout: int
    data_version: DataVersion
    ha_address: str
    peer: object
    host: str = ""
    fingerprint: int | None = None
    changes: int = 0


@dataclass(slots=True, kw_only=True)
class Registration:
    """Registration of a broker and its topics.

    `topics` are queues by topic, `mappings` unparsed JSON objects by topic. `enable_acting_master` is None
    from old brokers. `filter_servers` None keeps the known ones. `host` is the address that the connection
    comes from. `fingerprint` identifies the whole content.
    """

    cluster: str
    name: str
    broker_id: int
    address: str
    ha_address: str
    data_version: DataVersion
    topics: Mapping[str, QueueData]
    mappings: Mapping[str, Any] = field(default_factory=dict)
    zone_name: str | None = None
    heartbeat_timeout: int | None = None
    enable_acting_master: bool | None = None
    filter_servers: Sequence[str] | None = None
    peer: object = None
    host: str = ""
    fingerprint: int | None = None

    @property
    def key(self) -> BrokerKey:
        """Key of this broker in `live`."""
        return BrokerKey(self.cluster, self.address)


class MinBrokerIdNotice(NamedTuple):
    """Notification of `receivers` that the minimum broker id of their group has changed."""

    receivers: tuple[str, ...]
    broker_name: str
    min_broker_id: int
    min_broker_address: str
    offline_broker_address: str | None
    ha_broker_address: str | None


@dataclass(slots=True)
class RegistrationResult:
    """Result of a registration: the master's address (for slaves), notices to send, and a warning."""

    master_address: str | None = None
    ha_address: str | None = None
    notices: list[MinBrokerIdNotice] = field(default_factory=list)
    warning: str = ""


class Leaving(NamedTuple):
    """Removal of a broker. `broker_id` is None if its group does not know it (any more).

    `peer`, if set, is the connection it was registered on. The removal does not apply to a broker that has
    since registered on another one.
    """

    key: BrokerKey
    name: str
    broker_id: int | None
    peer: object = None


class RegistrationRefused(Exception):
    """Refusal of a registration; the text is the remark. Nothing has changed."""


@body
class TopicMapping(Body):
    """Queues of a static topic on one broker. RocketMQ: `TopicQueueMappingInfo`."""

    bname: str
    topic: str | None = None
    scope: str | None = None
    total_queues: int = 0
    epoch: int = 0
    dirty: bool = False
    curr_id_map: dict[int, int] = field(default_factory=dict)


Mappings = dict[str, dict[str, Any]]
"""Validated mappings of one broker by topic, as JSON objects."""


def read_queues(broker: str, topic: str, config: Mapping[str, Any]) -> QueueData:
    """Parse a topic's queues from its configuration; defaults are those of RocketMQ's `TopicConfig`.

    Raises Refused.
    """
    numbers = (
        config.get("readQueueNums", 16),
        config.get("writeQueueNums", 16),
        config.get("perm", PERM_READ | PERM_WRITE),
        config.get("topicSysFlag", 0),
    )
    for number in numbers:
        if type(number) is not int or not INT_MIN <= number <= INT_MAX:
            raise RegistrationRefused(f"the configuration of topic {topic[:100]} cannot be read")
    read, write, perm, flag = numbers
    return QueueData(broker, read, write, perm, flag)


def read_mappings(said: Registration) -> Steps[Mappings]:
    """Parse the mappings of a registration; those with another broker's name are skipped. Raises Refused."""
    read: Mappings = {}
    for topic, value in said.mappings.items():
        yield
        try:
            mapping = TopicMapping.from_json(value)
        except BodyError as error:
            raise RegistrationRefused(error.remark) from None
        if mapping.bname == said.name:
            read[topic] = mapping.to_json()
    return read


def check_texts(said: Registration, topics: Iterable[str]) -> None:
    """Check the length of all names and addresses of a registration. Raises Refused."""
    filter_servers = said.filter_servers or ()
    texts = (said.cluster, said.name, said.address, said.ha_address, said.zone_name or "")
    if max(map(len, (*texts, *topics, *filter_servers))) > NAME_LENGTH_MAX:
        raise RegistrationRefused(f"a name or an address may have {NAME_LENGTH_MAX} characters")
    if len(filter_servers) > FILTER_SERVERS_MAX:
        raise RegistrationRefused(f"a broker may have {FILTER_SERVERS_MAX} filter servers")
