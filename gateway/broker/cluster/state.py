"""What a broker knows of the others, and what name servers know of it."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.engine.ha.role import Role
from mqgateway.engine.tables.topics import PERM_WRITE, TopicConfig
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.cluster.registration import Caller, Registration
from mqgateway.gateway.broker.cluster.route_cache import RouteCache
from mqgateway.gateway.broker.environment import Environment
from mqgateway.gateway.broker.tables import Tables
from mqgateway.gateway.runtime.loop import Clockwork


class ClusterState:
    """`caller` asks other servers. Topics that change are registered soon."""

    def __init__(
        self, environment: Environment, tables: Tables, role: Role, caller: Caller, clockwork: Clockwork
    ) -> None:
        options, ask = environment.options, caller.request
        self.broker_directory = BrokerDirectory(options, environment.clock, ask)
        self.route_cache = RouteCache(options, tables.topics, ask)
        self.writable_routes = RouteCache(options, tables.topics, ask, PERM_WRITE)
        """Queues that are written to, where the other cache has those that are read."""
        self.registration = Registration(
            options,
            tables.topics,
            tables.mappings,
            caller,
            clockwork,
            role=role,
            address=environment.address,
            ha_address=environment.ha_address,
        )
        tables.topics.on_change = self._topics_changed

    def refresh_routes(self) -> None:
        """Look up anew what was asked for lately."""
        self.route_cache.refresh()
        self.writable_routes.refresh()

    def _topics_changed(self, configs: Sequence[TopicConfig]) -> None:
        for config in configs:
            self.registration.soon(config.topic_name)
