"""Durability that the acknowledgement of a message waits for.

With ASYNC_FLUSH it waits for nothing: a send stays a plain call. With SYNC_FLUSH it waits until the log is on
disk past the message. All waiting sends share one flush, so many sends of one read cost one fsync. A
SYNC_MASTER also waits for its slaves, at the same time, and accepts nothing while too few of them keep up. If
both waits fail, the status of the slaves is reported. A message with WAIT=false is acknowledged at once in
any case. A batch of a Kafka producer with acks=all waits for as many logs as its topic's
`min.insync.replicas` says, also on an ASYNC_MASTER. A broker that started as a slave waits like a SYNC_MASTER
once it is master. In a DLedger group every message waits for the majority, and for nothing else. Sends that
wait when the role changes are refused: the group may continue without the messages stored here.

RocketMQ: `CommitLog.handleDiskFlushAndHA`, `GroupCommitService`, `GroupTransferService`.
"""

from typing import Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.ha.replicas import Replicas
from mqgateway.engine.ha.role import ReplicationRole, RoleState
from mqgateway.engine.message import PROPERTY_WAIT_STORE_MSG_OK
from mqgateway.engine.options import BrokerOptions, BrokerRole, FlushDiskType, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.gateway.broker.errors import OperationError, Reason

ROLE_CHANGED: Final = "service not available now. The role of this broker has changed."

STORED: Final = frozenset(
    {
        PutStatus.PUT_OK,
        PutStatus.FLUSH_DISK_TIMEOUT,
        PutStatus.FLUSH_SLAVE_TIMEOUT,
        PutStatus.SLAVE_NOT_AVAILABLE,
    }
)
"""Final statuses of messages in the log; all but the first are less durable than configured."""


class Durability:
    """Decides what a put waits for, and waits; `maxSendsWaitingForFlush` limits the waiting puts."""

    def __init__(
        self,
        store: MessageStore,
        options: BrokerOptions,
        store_options: StoreOptions,
        clock: Clock,
        role: ReplicationRole,
        replicas: Replicas,
    ) -> None:
        self._store = store
        self._options = options
        self._clock = clock
        self._waiting = 0
        self.replicas = replicas
        """The replicas."""
        self._is_ledger = store_options.enable_d_leger_commit_log
        self._for_disk = store_options.flush_disk_type is FlushDiskType.SYNC_FLUSH and not self._is_ledger
        self.may_wait_for_slaves = (
            options.enable_controller_mode
            or self._is_ledger
            or store_options.broker_role is not BrokerRole.ASYNC_MASTER
        )
        """True if messages may ever wait for slaves."""
        self._role = role
        self.is_for_slaves = False
        """True if messages wait for slaves."""
        self.is_awaited = False
        """True if messages wait at all."""
        self._follow_role()
        role.on_change(self._role_changed)

    def _follow_role(self) -> None:
        self.is_for_slaves = self.may_wait_for_slaves and self._role.is_master
        self.is_awaited = self._for_disk or self.is_for_slaves

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        self._follow_role()
        self.replicas.release()

    @property
    def is_full(self) -> bool:
        """True if so many puts wait that no more are accepted."""
        return self._waiting >= self._options.max_sends_waiting_for_flush

    def awaits(self, properties: dict[str, str]) -> bool:
        """Return True if a message waits; its WAIT=false opts out, except in a DLedger group."""
        return self.is_awaited and (
            self._is_ledger or properties.get(PROPERTY_WAIT_STORE_MSG_OK, "true").lower() == "true"
        )

    def lacks_replicas(self, properties: dict[str, str], least: int = 1) -> bool:
        """Return True if a message with these properties must not be put, as too few slaves keep up.

        `least` replicas must be in sync, this broker included, whatever the settings say.
        """
        if least > 1 and self.replicas.in_sync() < least:
            return True
        return self.is_for_slaves and self.replicas.need(self._now()) is None and self.awaits(properties)

    def wait(self, result: PutResult, least: int = 1) -> Deferred[PutStatus]:
        """Return a Deferred of the final status of a put, which may fail with `OperationError`.

        At least `least` logs must have it, this broker's included, and as many replicas be in sync then.
        """
        self._waiting += 1
        role = self._role.state
        if not self.is_for_slaves and least <= 1:
            waiting = self._on_disk(result.end_offset)
        elif not self._for_disk:
            waiting = self._on_slaves(result.end_offset, least)
        else:
            on_slaves = self._on_slaves(result.end_offset, least)
            waiting = self._on_disk(result.end_offset)
            waiting.addCallback(
                lambda flushed: on_slaves.addCallback(
                    lambda copied: flushed if copied is PutStatus.PUT_OK else copied
                )
            )
        return waiting.addCallbacks(self._done, self._gave_up, callbackArgs=(role,))

    def _done(self, status: PutStatus, role: RoleState) -> PutStatus:
        self._waiting -= 1
        if self._role.state is not role:
            raise OperationError(Reason.SERVICE_NOT_AVAILABLE, ROLE_CHANGED)
        return status

    def _gave_up(self, failure: Failure) -> Failure:
        """Note that a wait failed: its connection is lost, which cancels the wait."""
        self._waiting -= 1
        return failure

    def _on_disk(self, end: int) -> Deferred[PutStatus]:
        waiting: Deferred[PutStatus] = Deferred()
        self._store.when_flushed(end, waiting.callback)
        return waiting

    def _on_slaves(self, end: int, least: int) -> Deferred[PutStatus]:
        waiting: Deferred[PutStatus] = Deferred()
        now, replicas, need = self._now(), self.replicas, least
        if self.is_for_slaves:
            # A message put although too few slaves keep up waits for all required, perhaps unsuccessfully.
            need = max(replicas.need(now) or replicas.wanted, least)

        def copied(status: PutStatus) -> None:
            is_short = least > 1 and status is PutStatus.PUT_OK and replicas.in_sync() < least
            waiting.callback(PutStatus.FLUSH_SLAVE_TIMEOUT if is_short else status)

        replicas.wait(end, now, need, copied)
        return waiting

    def _now(self) -> int:
        return elapsed_millis(self._clock)
