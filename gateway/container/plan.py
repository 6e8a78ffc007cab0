"""Identity and port of a broker, read from its file before its start, and reasons for rejecting it.

Standard: `BrokerContainerProcessor.addBroker`, `BrokerContainer.addBroker`.
"""

import logging
import os.path
from dataclasses import dataclass
from typing import NamedTuple

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import (
    BrokerOptions,
    BrokerRole,
    OptionSet,
    RemotingOptions,
    Setting,
    StoreOptions,
    TlsOptions,
    load_properties,
)

log = logging.getLogger(__name__)

DUPLICATION = "Can not add broker to container when duplicationEnable is true currently"


class BrokerRejected(Exception):
    """The container rejects a broker; the text is the remark of the response."""


class BrokerIdentity(NamedTuple):
    """Identity of a broker. Standard: `BrokerIdentity`."""

    cluster: str
    name: str
    broker_id: int

    @property
    def canonical_name(self) -> str:
        """Name in logs and remarks."""
        return f"{self.cluster}_{self.name}_{self.broker_id}"


@dataclass(frozen=True)
class BrokerPlan:
    """A broker that can be started: its identity, port, and the path of its settings file."""

    identity: BrokerIdentity
    path: str
    port: int


def plan_of(path: str | None, disk: Disk, default_name: str) -> BrokerPlan:
    """Read a broker's file. `default_name` is for brokers without `brokerName`. Raises `BrokerRejected`."""
    if not path:
        raise BrokerRejected("addBroker config path is empty")
    path = os.path.abspath(path)
    try:
        settings = load_properties(disk.read_bytes(path), path)
    except (OSError, ConfigError) as error:
        log.error("%s cannot be read: %s", path, error)
        raise BrokerRejected("addBroker properties empty") from None
    broker, store = BrokerOptions(), StoreOptions()
    options = OptionSet(broker, RemotingOptions(), store, TlsOptions())
    errors = [problem for problem in options.apply(settings) if problem.severity == "error"]
    if errors:
        raise BrokerRejected(f"start broker failed, {errors[0]}")
    broker_id = _checked_id(broker, store)
    if not store.total_replicas >= store.in_sync_replicas >= store.min_in_sync_replicas:
        raise BrokerRejected("invalid replicas number")
    if options.get("duplicationEnable"):
        raise BrokerRejected(DUPLICATION)
    identity = BrokerIdentity(broker.broker_cluster_name, broker.broker_name or default_name, broker_id)
    return BrokerPlan(identity, path, broker.listen_port)


def _checked_id(broker: BrokerOptions, store: StoreOptions) -> int:
    """Return the broker id in the group: always 0 for a master. Raises `BrokerRejected` for a wrong one."""
    if store.broker_role is not BrokerRole.SLAVE:
        return 0
    if broker.broker_id <= 0:
        raise BrokerRejected("slave broker id must be > 0")
    return broker.broker_id


def settings_of_broker(read: list[Setting], given: list[Setting]) -> tuple[list[Setting], list[str]]:
    """Merge the settings of a broker's file (`read`) with those of its container (`given`).

    The container decides the settings of connections, and the name servers if it has any. Return the settings
    in the order in which they apply, and the names of those in the file without effect.
    """
    over = CONNECTION | ({"namesrvAddr"} & {setting.key for setting in given})
    own = [setting for setting in read if setting.key not in over]
    return own + given, sorted({setting.key for setting in read} & over)


CONNECTION = frozenset(OptionSet(RemotingOptions(), TlsOptions()).names()).difference(
    OptionSet(BrokerOptions(), StoreOptions()).names()
)
"""Properties that the brokers of a container share: those of connections, not of a broker."""
