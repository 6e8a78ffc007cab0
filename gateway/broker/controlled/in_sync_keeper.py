"""Maintenance of a master's in-sync set, by requests to the controller, one change at a time.

RocketMQ: `ReplicasManager.checkSyncStateSetAndDoReport`, `doReportSyncStateSetChanged`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.agreed_replicas import AgreedReplicas
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.controlled.controllers import Controllers
from mqgateway.gateway.codec.bodies import SyncStateSet
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import AlterSyncStateSetRequestHeader

log = logging.getLogger(__name__)

PAUSE_MILLIS = 500
"""Milliseconds without requests after the controller has refused, or not answered."""
NO_MASTER = (ResponseCode.CONTROLLER_INVALID_MASTER, ResponseCode.CONTROLLER_FENCED_MASTER_EPOCH)


class InSyncKeeper:
    """Keeper of a master's in-sync set.

    `on_refused` is called if the controller has refused a set, with True if that says this broker is not the
    master.
    """

    def __init__(
        self,
        broker: Broker,
        replicas: AgreedReplicas,
        controllers: Controllers,
        on_refused: Callable[[bool], None],
    ) -> None:
        self._broker = broker
        self._replicas = replicas
        self._set = replicas.in_sync_set
        self._controllers = controllers
        self._on_refused = on_refused
        self._is_asking = self._is_considering = False
        self._next_look = self._not_before = 0
        replicas.watch_confirms(self._confirmed)

    @property
    def _leads(self) -> bool:
        return self._broker.role.is_master and self._broker.store.gate is None

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    def tick(self, now: int) -> None:
        """Check which replicas keep up: every few seconds, or if one is new or silent."""
        if now >= self._next_look or self._has_newcomers() or self._has_silent(now):
            self._next_look = now + self._broker.options.check_sync_state_set_period
            self.consider()

    def _has_newcomers(self) -> bool:
        feeds, ids = self._replicas.feeds, self._set.ids
        return len(feeds) >= len(ids) and any(feed.replica_id not in ids for feed in feeds)

    def _has_silent(self, now: int) -> bool:
        patience, ids = self._patience, self._set.ids
        feeds = self._replicas.followers()
        return any(feed.replica_id in ids and feed.is_silent(patience, now) for feed in feeds)

    @property
    def _patience(self) -> int:
        return self._broker.options.prompt_heart_beat_timeout_mills

    def _confirmed(self) -> None:
        """Dispatch newly confirmed messages, so that readers see them before senders are answered."""
        self._broker.store.dispatch()
        if self._has_newcomers():
            self.consider()

    def consider(self) -> None:
        """Request another set from the controller, if the set should change."""
        if not self._leads or self._is_considering:
            return
        self._is_considering = True
        try:
            wanted = self._look()
        finally:
            self._is_considering = False
        if wanted is not None and not self._is_asking and self._now() >= self._not_before:
            self._ask_for(wanted)

    def _look(self) -> frozenset[int] | None:
        replicas, options, before = self._replicas, self._broker.store_options, self._set.members
        place = replicas.confirmed if options.all_ack_in_sync_state_set else 0
        wanted = self._set.consider(replicas.followers(), place, self._now(), self._patience, options)
        if self._set.members != before:
            replicas.confirm()
        return wanted

    def _ask_for(self, wanted: frozenset[int]) -> None:
        self._is_asking = True
        self._set.ask(wanted)
        self._replicas.confirm()
        state, epoch = self._broker.role.state, self._set.epoch

        def ended(_: object) -> None:
            self._is_asking = False

        def answered(answer: RemotingCommand) -> None:
            if self._broker.role.state == state:
                self._take(answer, wanted, epoch)
            else:
                self._set.unanswered()

        def failed(failure: Failure) -> None:
            log.warning("no response to the in-sync set %s: %s", sorted(wanted), failure.getErrorMessage())
            self._set.unanswered()
            self._not_before = self._now() + PAUSE_MILLIS

        header = AlterSyncStateSetRequestHeader(
            broker_name=self._broker.options.broker_name,
            master_broker_id=self._set.own_id,
            master_epoch=state.epoch,
            invoke_time=self._broker.clock.millis(),
        )
        body = SyncStateSet(set(wanted), epoch).encode()
        asked = Deferred.fromCoroutine(
            self._controllers.ask(RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET, header, body)
        )
        asked.addCallback(answered).addErrback(failed).addBoth(ended)

    def _take(self, answer: RemotingCommand, wanted: frozenset[int], epoch: int) -> None:
        if answer.code == ResponseCode.SUCCESS:
            found = SyncStateSet.decode(answer.body)
            if self._set.take(found.sync_state_set, found.sync_state_set_epoch):
                log.info("the in-sync set is %s", sorted(self._set.ids))
            self._replicas.acknowledged()
            return
        log.warning("the in-sync set %s is refused: %d %s", sorted(wanted), answer.code, answer.remark)
        self._not_before = self._now() + PAUSE_MILLIS
        if answer.code not in NO_MASTER and self._set.epoch == epoch:
            self._set.refused()
            self._replicas.confirm()
        self._on_refused(answer.code in NO_MASTER)
