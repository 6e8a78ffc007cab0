"""State of the cluster: other brokers, routes, and the registration with name servers."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.engine.ha.role import ReplicationRole
from mqgateway.engine.tables.topics import PERM_WRITE, TopicConfig
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.cluster.name_servers import NameServers
from mqgateway.gateway.broker.cluster.registration import BrokerRegistration
from mqgateway.gateway.broker.cluster.route_cache import RouteCache, TopicRoutes
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.tables import Tables
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.runtime.loop import Clockwork


class ClusterState:
    """Cluster state of a broker. `client` sends requests to other servers. Topic changes are registered."""

    def __init__(
        self,
        environment: BrokerEnvironment,
        tables: Tables,
        role: ReplicationRole,
        client: RemotingClient,
        clockwork: Clockwork,
    ) -> None:
        options, topics = environment.options, tables.topics
        self.name_servers = NameServers(options, client.request)
        self.broker_directory = BrokerDirectory(options, environment.clock, client.request, self.name_servers)
        self.route_cache = RouteCache(options, topics, self.name_servers)
        self.writable_routes = RouteCache(options, topics, self.name_servers, PERM_WRITE)
        """Queues that can be written; the other cache has those that can be read."""
        self.routes = TopicRoutes(options, topics, self.name_servers, environment)
        self.registration = BrokerRegistration(
            options,
            topics,
            tables.mappings,
            client,
            clockwork,
            role=role,
            reachable=environment,
        )
        topics.watch_changes(self._topics_changed)

    def refresh_routes(self) -> None:
        """Look up again the topics that were queried lately."""
        self.route_cache.refresh()
        self.writable_routes.refresh()
        self.routes.refresh()

    def _topics_changed(self, configs: Sequence[TopicConfig]) -> None:
        for config in configs:
            self.registration.soon(config.topic_name)
