"""Steps of a group with a controller: the controller elects the new master, so no broker is stopped.

The new broker joins the set, the master is set to wait for all in-sync replicas, and the controller is
requested to elect the new broker. The old one then follows it, until an operator stops it.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.gateway.client import admin_broker
from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.bodies import ReplicasInfo
from mqgateway.gateway.migration import cluster
from mqgateway.gateway.migration.handover import LONG, SHORT, HandOver
from mqgateway.gateway.migration.plan import MigrationError
from mqgateway.gateway.mqadmin.servers import MASTER
from mqgateway.gateway.runtime.name_servers import split_addresses


class Election(HandOver):
    """A `HandOver` in which a controller elects the new master."""

    @property
    def steps(self) -> dict[str, Callable[[], None]]:
        """Steps in their order."""
        return {
            "join": self._join,
            "catch-up": self._catch_up,
            "tables": self._take_tables,
            "drain": self._drain,
            "secure": self._secure,
            "promote": self._promote,
            "settle": self._settle,
        }

    def undo(self) -> None:
        """See `HandOver`. No broker was stopped, so none is started."""
        self._step = "undo"
        self._give_settings_back(self._source.address)
        self._announce_again()
        if cluster.is_up(self._servers, self._target.address):
            self._end(self._target)
        self._report(
            "is as it was; the set still has the new broker: mqadmin cleanBrokerMetadata takes it out"
        )

    def _leader(self) -> str:
        """Return the address of the leading controller. Raises `MigrationError` if none leads."""
        settings = self._servers.ask(admin_broker.settings(), self._source.address)
        for address in split_addresses(settings.get("controllerAddr")):
            try:
                if self._servers.ask(replicas.controllers(), address).is_leader:
                    return address
            except ClientError:
                continue
        raise MigrationError(f"no controller of {settings.get('controllerAddr')} leads")

    def _set(self) -> ReplicasInfo:
        found = self._servers.ask(replicas.in_sync([self._name]), self._leader()).get(self._name)
        if found is None:
            raise MigrationError(f"the controller has no set {self._name}")
        return found

    def _catch_up(self) -> None:
        def missing() -> str:
            if any(one.broker_address == self._target.address for one in self._set().in_sync_replicas):
                return ""
            return f"{self._target.address} is not in sync"

        self._until(missing, LONG)

    def _secure(self) -> None:
        self._check_master()
        tables = cluster.tables(self._servers, self._source.address)
        self._until(lambda: cluster.lacks(cluster.tables(self._servers, self._target.address), tables))
        self._change_settings({"allAckInSyncStateSet": "true", "minInSyncReplicas": "2"})
        self._note(tables)
        self._until(self._missing_log, SHORT)
        self._is_secured = True

    def _promote(self) -> None:
        if cluster.id_of(self._servers, self._name, self._target.address) != MASTER:
            if not self._is_secured:
                self._secure()
            self._catch_up()
            number = next(
                one.broker_id
                for one in self._set().in_sync_replicas
                if one.broker_address == self._target.address
            )
            began = self._world.monotonic()
            self._servers.ask(replicas.elect(self._group.cluster, self._name, number), self._leader())
            self._until(self._unelected, SHORT)
            self._moves.kept["away"] = round(self._world.monotonic() - began, 1)
            self._report(f"the group had no master for {self._moves.kept['away']} s")
        self._give_settings_back(self._source.address)

    def _unelected(self) -> str:
        if cluster.id_of(self._servers, self._name, self._target.address) == MASTER:
            return ""
        return f"{self._target.address} is not registered as master yet"
