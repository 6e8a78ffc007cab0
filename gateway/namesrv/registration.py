"""What brokers say when they come and go, and what comes of it: the plain data between requests and tables.

`Registration` and `Leaving` go in, `Registered` and `Notice` come out; `LiveBroker` is what is remembered of
one that is there. What a registration carries in JSON is read by `read_queues`, topic by topic as it comes,
and `read_mappings`; it is refused as a whole when a part is wrong. Standard: `RouteInfoManager`,
`TopicConfig`, `TopicQueueMappingInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE
from mqgateway.gateway.codec.bodies import Body, QueueData
from mqgateway.gateway.codec.errors import BodyError

INT_MIN, INT_MAX = -(2**31), 2**31 - 1

NAME_LENGTH_MAX = 1024
"""Characters that names and addresses may have; far more than the longest legal ones."""

FILTER_SERVERS_MAX = 100
"""Filter servers that one broker may have; nothing in 5.x has any."""

DEFAULT_HEARTBEAT_TIMEOUT = 120_000
"""Milliseconds after which a broker unheard of is dropped, unless its registration names another time."""


class BrokerKey(NamedTuple):
    """What one broker process is known by, whatever its name and id are at the moment."""

    cluster: str
    address: str


@dataclass(slots=True)
class LiveBroker:
    """A broker that is heard of. Times in ms of a clock that never jumps.

    `peer` is the connection it last registered on, `host` where that comes from. `fingerprint` stands for all
    it said then, and `changes` counts the changes of the tables up to then.
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
    """What a broker says of itself and its topics.

    `topics` are queues by topic, `mappings` JSON objects by topic, as they came. `enable_acting_master` is
    None from brokers too old to say. `filter_servers` None leaves those known. `host` is where its connection
    comes from. `fingerprint` stands for all of it.
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
        """Where this broker stands in `live`."""
        return BrokerKey(self.cluster, self.address)


class Notice(NamedTuple):
    """To be sent to each of `receivers`: the smallest broker id of their group has changed."""

    receivers: tuple[str, ...]
    broker_name: str
    min_broker_id: int
    min_broker_address: str
    offline_broker_address: str | None
    ha_broker_address: str | None


@dataclass(slots=True)
class Registered:
    """What a registration brings back: where the master is (for slaves), whom to tell, and a warning."""

    master_address: str | None = None
    ha_address: str | None = None
    notices: list[Notice] = field(default_factory=list)
    warning: str = ""


class Leaving(NamedTuple):
    """A broker that goes. `broker_id` is None when its group does not know it (any more). `peer`, when set,
    is the connection it is known by: a broker that has registered on another one since is not meant."""

    key: BrokerKey
    name: str
    broker_id: int | None
    peer: object = None


class Refused(Exception):
    """A registration that is not taken; the text is the remark. Nothing has changed."""


@dataclass(slots=True)
class TopicMapping(Body):
    """Which queues of a static topic lie on one broker. Standard: `TopicQueueMappingInfo`."""

    bname: str
    topic: str | None = None
    scope: str | None = None
    total_queues: int = 0
    epoch: int = 0
    dirty: bool = False
    curr_id_map: dict[int, int] = field(default_factory=dict)


Mappings = dict[str, dict[str, Any]]
"""Mappings of one broker by topic, as JSON objects that were read and found right."""


def read_queues(broker: str, topic: str, config: Mapping[str, Any]) -> QueueData:
    """A topic's queues out of its configuration; what is missing is as in the standard's `TopicConfig`.

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
            raise Refused(f"the configuration of topic {topic[:100]} cannot be read")
    read, write, perm, flag = numbers
    return QueueData(broker, read, write, perm, flag)


def read_mappings(said: Registration) -> Steps[Mappings]:
    """The mappings of a registration; those in another broker's name are left out. Raises Refused."""
    read: Mappings = {}
    for topic, value in said.mappings.items():
        yield
        try:
            mapping = TopicMapping.from_json(value)
        except BodyError as error:
            raise Refused(error.remark) from None
        if mapping.bname == said.name:
            read[topic] = mapping.to_json()
    return read


def check_texts(said: Registration, topics: Iterable[str]) -> None:
    """Whether all names and addresses of a registration have a sane length. Raises Refused."""
    filter_servers = said.filter_servers or ()
    texts = (said.cluster, said.name, said.address, said.ha_address, said.zone_name or "")
    if max(map(len, (*texts, *topics, *filter_servers))) > NAME_LENGTH_MAX:
        raise Refused(f"a name or an address may have {NAME_LENGTH_MAX} characters")
    if len(filter_servers) > FILTER_SERVERS_MAX:
        raise Refused(f"a broker may have {FILTER_SERVERS_MAX} filter servers")
