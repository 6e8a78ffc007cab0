"""Exchange of the nodes that clients of a front end see, between a master and its slaves.

A slave whose front end has published its node sends it to the master every second, with request 906, and is
answered the nodes of the whole group. RocketMQ's brokers ignore the field, and answer without it: a slave of
theirs is not shown, and a master of theirs is no leader for these clients.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import Final

from twisted.internet.defer import maybeDeferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.group_nodes import (
    LOST_MILLIS,
    NO_END,
    NO_NODE,
    NO_VIEW,
    GroupNode,
    GroupNodes,
    NodesView,
    format_node,
    format_view,
    parse_node,
    parse_view,
)
from mqgateway.engine.ha.peer_groups import first_node_id
from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.replication.replication import Replication
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ExchangeHAInfoRequestHeader
from mqgateway.gateway.remoting.client import Ask

log = logging.getLogger(__name__)

FIELD: Final = "frontEndNode"
"""Field of a report in request 906."""
ANSWER_FIELD: Final = "frontEndNodes"
TOPICS_FIELD: Final = "topicsVersion"
"""Field of the answer with the data version of the master's topics."""
PERIOD_MILLIS: Final = 1000
UNKNOWN_MILLIS: Final = 300
"""Interval of reports while the master has not answered."""
REPORT_SECONDS: Final = 3.0
UNKNOWN_NUMBER: Final = -1


class NodeExchange:
    """The nodes of one broker's group. `number` returns this broker's number in it, -1 for none yet.

    `in_sync` returns the numbers of replicas in sync, None if these are judged by their logs.
    """

    def __init__(
        self,
        broker: Broker,
        replication: Replication,
        ask: Ask,
        number: Callable[[], int],
        in_sync: Callable[[], Container[int] | None],
    ) -> None:
        self._broker = broker
        self._replication = replication
        self._ask = ask
        self._number = number
        self._in_sync = in_sync
        options = broker.options
        self._first_id = first_node_id(options.kafka_cluster_groups, options.broker_name)
        self._published: tuple[int, str, int, str] | None = None
        self._nodes = GroupNodes()
        self._reported = NO_VIEW
        self._reported_at = -LOST_MILLIS
        self._next_report = 0
        self._is_asking = False
        self.is_leaving = False
        self._topics_version = ""
        self._complaint = ""
        broker.role.on_change(self._role_changed)

    @property
    def own_id(self) -> int:
        """See `Nodes`."""
        number = self._number()
        return number if number == UNKNOWN_NUMBER else self._first_id + number

    def publish(self, node_id: int, host: str, port: int, rack: str) -> None:
        """See `Nodes`."""
        self._published = node_id, host, port, rack

    def _own(self) -> GroupNode | None:
        """Return this broker's node; None if there is none yet."""
        number = self._number()
        if self._published is None or number == UNKNOWN_NUMBER:
            return None
        node_id, host, port, rack = self._published
        store, is_master = self._broker.store, self._broker.role.is_master
        end = store.max_physical_offset if is_master or self._replication.follows else NO_END
        own_id = self._first_id + number if node_id < 0 else node_id
        begin = store.min_physical_offset
        return GroupNode(number, own_id, host, port, rack, end, begin, self.is_leaving)

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    @property
    def _leads(self) -> bool:
        return self._broker.role.is_master and self._broker.store.gate is None

    def view(self) -> NodesView:
        """See `Nodes`. A slave has no leader if its master has not answered for some seconds."""
        own = self._own()
        if own is not None and self._broker.role.is_master:
            view = self._seen(own, self._broker.leader_epoch)
            return view if self._leads else view._replace(leader=NO_NODE)
        return self._reported if self._is_current else self._reported._replace(leader=NO_NODE)

    @property
    def _is_current(self) -> bool:
        """True if this is a slave whose master has answered lately."""
        return self._broker.role.is_slave and self._now() - self._reported_at < LOST_MILLIS

    @property
    def serves(self) -> bool:
        """See `Nodes`."""
        if self.is_leaving or not self._is_current:
            return False
        number = self._number()
        return any(each.serves and each.node.number == number for each in self._reported.nodes)

    def _seen(self, own: GroupNode, epoch: int) -> NodesView:
        """Return the nodes as this master sees them."""
        gap_max = self._broker.store_options.ha_max_gap_not_in_sync
        return self._nodes.view(own, epoch, self._now(), in_sync=self._in_sync(), gap_max=gap_max)

    def received(self, report: str) -> str:
        """See `Nodes`. Raises `ValueError`."""
        if not self._leads or self._own() is None:
            return ""
        node = parse_node(report)
        if not self._nodes.note(node, self._now(), self._broker.store.max_physical_offset):
            self._complain(
                f"node {node.id} at {node.host}:{node.port} has the id of another one (kafkaNodeId)"
            )
        return format_view(self.view())

    def reported(self) -> str:
        """See `Nodes`."""
        return format_view(self.view()) if self._leads and self._own() is not None else ""

    def leave(self) -> None:
        """See `Nodes`."""
        self.is_leaving, self._next_report = True, 0
        self.tick()

    def tick(self) -> None:
        """See `Nodes`."""
        now, tables, own = self._now(), self._replication.tables, self._own()
        if tables is None or own is None or self._is_asking or now < self._next_report:
            return
        master = tables.master_address
        if master in ("", self._broker.environment.address):
            return
        is_known = now - self._reported_at < LOST_MILLIS
        self._next_report = now + (PERIOD_MILLIS if is_known else UNKNOWN_MILLIS)
        self._is_asking = True
        command = RemotingCommand.request(
            RequestCode.EXCHANGE_BROKER_HA_INFO,
            ExchangeHAInfoRequestHeader(),
            ext={FIELD: format_node(own)},
        )

        def take(answer: RemotingCommand) -> None:
            text = answer.ext_fields.get(ANSWER_FIELD)
            if text and self._replication.tables is tables and tables.master_address == master:
                self._reported, self._reported_at = parse_view(text), self._now()
                self._compare_topics(answer.ext_fields.get(TOPICS_FIELD, ""))

        def ended(_: object) -> None:
            self._is_asking = False
            if self.is_leaving:
                self.tick()  # the stop may have begun meanwhile

        maybeDeferred(self._ask, master, command, REPORT_SECONDS).addCallback(take).addErrback(
            lambda failure: self._complain(f"the master at {master}: {failure.value}")
        ).addBoth(ended)

    def _compare_topics(self, version: str) -> None:
        """Copy the master's tables if its topics have changed since its last answer."""
        before, self._topics_version = self._topics_version, version
        if before not in ("", version) and self._replication.tables is not None:
            self._replication.tables.hasten()

    def _complain(self, problem: str) -> None:
        if problem != self._complaint:
            self._complaint = problem
            log.info("nodes of the group: %s", problem)

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        """Continue with the nodes that were known, until the next master reports others."""
        if before.kind is RoleKind.MASTER and after.kind is not RoleKind.MASTER:
            own = self._own()
            if own is not None:
                self._reported = self._seen(own, before.epoch)
        elif after.kind is RoleKind.MASTER and before.kind is not RoleKind.MASTER:
            self._nodes.adopt(self._reported)
        self._reported_at, self._next_report = -LOST_MILLIS, 0
