"""State of sends: the durability they wait for, and the generator of unique keys."""

from __future__ import annotations

import os
import random

from mqgateway.engine.ha.replicas import Replicas
from mqgateway.engine.ha.role import ReplicationRole
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.unique_keys import UniqueKeys
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.produce.durability import Durability


class ProduceState:
    """State of a broker's sends.

    `unique_keys` makes the keys of messages that came without one; sends wait for `replicas`.
    """

    def __init__(
        self, environment: BrokerEnvironment, store: MessageStore, role: ReplicationRole, replicas: Replicas
    ) -> None:
        clock, address = environment.clock, environment.store_host[:-4]
        self.durability = Durability(
            store, environment.options, environment.store_options, clock, role, replicas
        )
        self.unique_keys = UniqueKeys(address, os.getpid(), random.getrandbits(32), clock.millis())
