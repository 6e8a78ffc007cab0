"""Broker lifecycle: start, stop, periodic work.

Its requests are in `requests`. The quick ticks of `periodic_work` drive the store, held pulls, delayed
messages and transactions; slower ones expire clients, sample counts, write offsets. RocketMQ:
`BrokerController`.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine import cold_reads, slow_consumers
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.engine.options import (
    BrokerOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
)
from mqgateway.engine.overlay import Overlay
from mqgateway.engine.steps import Steps, run_for
from mqgateway.engine.store.scan import logged
from mqgateway.engine.tables import broadcasts
from mqgateway.engine.worker import Worker
from mqgateway.gateway.access.plain.settings import check_plain_settings
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.broker.acting.services import restore_topics
from mqgateway.gateway.broker.assembly import build_broker, join_group
from mqgateway.gateway.broker.detailed_stats import DetailedStats
from mqgateway.gateway.broker.draining import Draining
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.older_messages import TICK_SECONDS, TierOfBroker, tier_of
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.broker.periodic_work import PeriodicWork
from mqgateway.gateway.broker.replication import slave_tables
from mqgateway.gateway.broker.serving import access_control, dispatchers, end_of_read, guarded
from mqgateway.gateway.broker.static_topics import cleaning as static_cleaning
from mqgateway.gateway.broker.stats_log import StatsLog
from mqgateway.gateway.broker.translated import DispatchContext
from mqgateway.gateway.remoting.connection_settings import server_settings
from mqgateway.gateway.remoting.dispatch import Hook
from mqgateway.gateway.remoting.service import RemotingService
from mqgateway.gateway.runtime.service import Runtime

if TYPE_CHECKING:
    from mqgateway.gateway.access.plain.keeper import AclRulesKeeper

log = logging.getLogger(__name__)

SLOW_TICK_SECONDS = 10.0
NOTICE_SECONDS = 0.02
"""Changes of group members within this time are notified together."""
LAZY_NOTICE_SECONDS = 15.0  # without `realTimeNotifyConsumerChange`
FIRST_REGISTRATION_SECONDS = 1.0  # limit of a start's wait for the name servers
OPENING_SECONDS = 0.02  # time the recovery of a store may hold the event loop
HELD_SECONDS = 1.0  # interval of retries of a disk that refused writes at the start
FAST_PORT_DISTANCE = 2  # distance of the port that serves no pulls below the main one


class BrokerService(RemotingService):
    """A broker on its two ports.

    `settings` are all options of the process as properties (requests 25 and 26); names and addresses in them
    must have been filled in. `before_registering` is called when the ports listen and name servers are not
    yet notified; a Deferred that it returns is waited for. `operations` are for front ends other than the
    remoting ports. `neighbours` are the credentials the broker signs with if settings name none: servers of
    this process, which share its users, accept them. Raises `ConfigError`.
    """

    def __init__(
        self,
        settings: OptionSet,
        runtime: Runtime,
        *,
        hooks: Sequence[Hook] = (),
        before_registering: Callable[[], object] = lambda: None,
        neighbours: Credentials | None = None,
    ) -> None:
        super().__init__(runtime, settings.part(RemotingOptions), settings.part(TlsOptions))
        options = settings.part(BrokerOptions)
        self._before_registering = before_registering
        self._disk = Overlay(runtime.disk)
        self._is_opening = self._is_up = self._is_closed = self._is_writing_held = False
        self._stops: list[Deferred[None]] = []
        self.recovered: float | None = None
        """Fraction of the log to read that a start has read; None before."""
        self.recovery_seconds: float | None = None
        """Seconds that opening the store took; None until it is open."""
        self.port = options.listen_port or _free_port(self._remoting.bind_address)
        self.fast_port = max(0, self.port - FAST_PORT_DISTANCE)
        access = AccessSettings.of(options, runtime.disk, options.broker_cluster_name, neighbours)
        check_plain_settings(options, access.has_tables)
        self._client = self._make_client(access.sign)
        environment = self._environment(options, settings.part(StoreOptions))
        self._access = access_control(environment, access, self._schedule.pause)
        self.broker = build_broker(
            environment,
            settings,
            client=self._client,
            clockwork=runtime.reactor,
            is_turn=lambda: self.server.settings.turn.is_open,
            access=None if self._access is None else self._access.administration,
            on_notice=self._notify_clients_soon,
        )
        self.group = join_group(self.broker, self._client, runtime.reactor)
        self.periodic_work = PeriodicWork(self.broker, self.group, self._schedule)
        self._draining = Draining(self.broker, self.group.controlled or self.group.ledger, runtime.reactor)
        self.broker.role.on_change(self._role_changed)
        self._plain = self._rules_keeper(options) if options.acl_enable else None
        guard = self._access if access.is_on else None
        admission, table, guards = guarded(self.broker, guard, self._plain, self._schedule.pause)
        if self.group.controlled is not None:
            from mqgateway.gateway.broker.controlled.guard import AuthorityGuard

            hooks = [AuthorityGuard(self.group.controlled), *hooks]
        after_read = end_of_read(self.broker, self.group.after_read)
        connection_settings = server_settings(self._remoting, runtime.reactor, after_read)
        self.operations = Operations(
            self.broker,
            connection_settings.long_work,
            admission=admission,
            turn=connection_settings.turn,
            end_turn=after_read,
        )
        context = DispatchContext(self.broker, self.operations)
        self.dispatcher, self.fast_dispatcher = dispatchers(
            context, table, self._remoting, runtime.clock, [*hooks, *guards]
        )
        ports = self.dispatcher, self.fast_dispatcher
        stats, cluster = self.broker.stats, options.broker_cluster_name
        DetailedStats(stats, runtime.clock, ports, cluster, self._schedule.later)
        # A stop runs these from the last to the first.
        self._on_close(self._close_files)
        self._on_stop(self._write_tables)
        self._on_stop(self._stop_replication)
        self._on_stop(self._put_no_more)
        self.server = self._make_server(self.dispatcher, connection_settings)
        self._on_stop(self._leave)

    def _environment(self, options: BrokerOptions, store_options: StoreOptions) -> BrokerEnvironment:
        """Return the environment; cold reads run on threads if the broker has a worker of its own."""
        is_given, clock = self._runtime.worker is not None, self._runtime.clock

        def tier_worker() -> Worker:
            threads = store_options.tiered_read_threads
            return self._worker if is_given else self._new_threads(threads, "tier", is_abandoned=True)

        return BrokerEnvironment(
            options,
            store_options,
            self._disk,
            clock,
            self._worker,
            self.port,
            store_options.ha_listen_port or self.port + 1,
            None if is_given else self._new_threads(store_options.cold_read_threads, "reads"),
            tier_of(options, store_options, self._disk, clock, tier_worker),
        )

    @property
    def entries(self) -> int:
        """Number of topics, groups and queues."""
        tables = self.broker.tables
        return len(tables.topics) + len(tables.groups) + self.broker.store.admin.queue_count

    @property
    def progress(self) -> str:
        """Progress of the start in words, "" once the store is open."""
        if self.recovery_seconds is not None:
            return ""
        return "starting" if self.recovered is None else f"recovering, {self.recovered:.0%} of the log read"

    @property
    def users(self) -> AccessTables | None:
        """Users and policies, if there are any, for other servers of the same process."""
        return None if self._access is None else self._access.tables

    def _begin(self) -> Deferred[None]:
        """Recover the store, load the tables, listen, register.

        A long recovery yields to the event loop; `recovered` reports its progress. Fails with the errors of
        loading and listening. A name server that does not answer is not waited for.
        """
        self._is_opening = True
        opened: Deferred[None] = Deferred()
        self._continue_opening(self._open_store(), opened)
        return opened.addCallback(lambda _: self._listen()).addCallbacks(self._up, self._not_up)

    def drain(self, leaving: Collection[str] = ()) -> Deferred[None]:
        """Redirect producers before a stop, if settings say so; see `draining`. Never fails.

        `leaving` are the names of brokers that stop too.
        """
        return succeed(None) if self._is_opening else self._draining.begin(leaving)

    @property
    def drain_shortfall(self) -> str:
        """Reason why the drain was incomplete; empty if it was complete."""
        return self._draining.shortfall

    def _may_stop(self) -> Deferred[None]:
        """Wait for a store that is being opened: a half-open store cannot be closed."""
        stop: Deferred[None] = Deferred()
        self._stops.append(stop)
        if not self._is_opening:
            self._opened()
        return stop

    def _leave(self) -> Deferred[None] | None:
        """Unregister from the name servers, and answer parked requests."""
        if not self._is_up:
            return None
        self.periodic_work.begin_stop()
        self.group.membership.stop()
        if self.group.controlled is not None:
            self.group.controlled.stop()
        return self.broker.cluster.registration.stop()

    def _continue_opening(self, steps: Steps[None], opened: Deferred[None]) -> None:
        try:
            is_open = run_for(steps, self.broker.clock, OPENING_SECONDS)
        except Exception:
            opened.errback()
        else:
            if is_open:
                opened.callback(None)
            else:
                self._schedule.later(0, self._continue_opening, steps, opened)

    def _not_up(self, failure: Failure) -> Failure:
        self._opened()
        return failure

    def _opened(self) -> None:
        """Note that the start has ended, however it did, and let pending stops proceed."""
        self._is_opening = False
        stops, self._stops = self._stops, []
        for stop in stops:
            stop.callback(None)

    def _listen(self) -> Deferred[object]:
        bind = self._remoting.bind_address
        self.server.listen(bind, self.port)
        if self.fast_port:
            self.server.listen(bind, self.fast_port, self.fast_dispatcher)
        self.group.replication.listen(bind, self.broker.environment.ha_port)
        ledger = self.group.ledger
        takes_part = succeed(None) if ledger is None else ledger.start(self._remoting)
        return takes_part.addCallback(lambda _: self._before_registering())

    def _up(self, _: object) -> Deferred[None]:
        bind, environment = self._remoting.bind_address, self.broker.environment
        self._is_up = True
        self.periodic_work.start()
        for seconds, work in self._repeated():
            self._schedule.every(seconds, seconds, work)
        StatsLog(self.broker.stats, self.broker.clock, self._schedule).start()
        log.info("broker %s listens on %s:%d", environment.options.broker_name, bind, self.port)
        registered = self.group.membership.start()
        registered.addTimeout(FIRST_REGISTRATION_SECONDS, self._runtime.reactor)  # type: ignore[arg-type]
        self._opened()
        return registered.addErrback(lambda _: None)

    def _repeated(self) -> Iterator[tuple[float, Callable[[], object]]]:
        """Yield the periodic work besides the ticks, each with its interval in seconds."""
        broker, options = self.broker, self.broker.options
        yield SLOW_TICK_SECONDS, self._slow_tick
        tier = broker.environment.tier
        if tier is not None:
            yield TICK_SECONDS, TierOfBroker(tier, self._disk, broker.store_options, self._worker).tick
        yield slave_tables.TICK_SECONDS, self.group.replication.sync_tables
        yield options.flush_consumer_offset_interval / 1000, broker.pop.persist
        yield broker.store_options.flush_delay_offset_interval / 1000, broker.delays.persist
        yield options.transaction_metric_flush_interval / 1000, broker.transactions.counts.persist
        yield broadcasts.SCAN_SECONDS, self._scan_broadcasts
        yield cold_reads.TICK_SECONDS, broker.consume.cold_reads.tick
        yield slow_consumers.PROTECT_SECONDS, self._shut_out_slow_consumers
        yield static_cleaning.CLEAN_SECONDS, self._clean_mappings
        if self._plain is not None:
            from mqgateway.gateway.access.plain.keeper import LOOK_SECONDS

            yield LOOK_SECONDS, self._plain.look
        yield options.load_balance_poll_name_server_interval / 1000, broker.cluster.refresh_routes

    def _open_store(self) -> Steps[None]:
        """Load and recover in a cooperative task; refused writes are held until the disk accepts them."""
        broker = self.broker
        self._disk.begin()
        broker.tables.load_topics()
        progress = logged(broker.clock)

        def note(done: int, total: int) -> None:
            self.recovered = min(1.0, done / total) if total > 0 else 1.0
            progress(done, total)

        report = yield from broker.store.starting(note)
        self.recovery_seconds = report.seconds
        if broker.role.is_master:
            restore_topics(broker)
        broker.tables.load()
        broker.tables.forget_deleted()
        self._load_access()
        broker.delays.load()
        self.group.services.load()
        self._disk.end()
        broker.store.disk_settled(self._disk.refusal)
        if self._disk.refusal:
            self._schedule.every(HELD_SECONDS, HELD_SECONDS, self._write_held)

    def _load_access(self) -> None:
        """Load users, policies, and accounts of version 4. Raises `ConfigError`."""
        options = self.broker.options
        if self._plain is not None:
            self._plain.load()
        if self._access is not None:
            self._access.load()
            if options.migrate_auth_from_v1_enabled:
                from mqgateway.gateway.access.plain import migration

                accounts = self._rules_keeper(options)
                accounts.load()
                made = migration.migrate(accounts.rules, self._access.administration)
                log.info("%d users were created from version 4 accounts", made)

    def _rules_keeper(self, options: BrokerOptions) -> AclRulesKeeper:
        from mqgateway.gateway.access.plain.keeper import AclRulesKeeper  # few brokers need it

        return AclRulesKeeper(options, self._disk, self._worker, self._runtime.clock)

    def _write_held(self) -> None:
        """Try to write what the disk refused at the start."""
        if self._disk.refusal and not self._is_writing_held:
            self._is_writing_held = True
            self._worker.run(self._disk.carry_out, self._held_written)

    def _held_written(self, outcome: bool | Exception) -> None:
        self._is_writing_held = False
        if outcome is not True or self._is_closed:
            return
        try:
            self._disk.settle()
            self.broker.store.disk_settled("")
        except OSError as error:
            log.warning("the disk accepts some writes, but not all yet: %s; will retry", error)
        else:
            log.warning("the disk accepts writes again: sends are accepted")

    def _put_no_more(self) -> Deferred[None] | None:
        """Write the last records, now that all requests are answered, so that slaves receive them too."""
        if not self._is_up:
            return None
        self.periodic_work.puts_no_more = True
        self.broker.transactions.close()
        self.broker.store.dispatch()
        return (self.group.ledger or self.group.replication).settle()

    def _stop_replication(self) -> Deferred[None]:
        """Stop replication: all requests read are answered, and no more arrive."""
        stopped = self.group.replication.stop()
        if self.group.ledger is not None:
            self.group.ledger.stop()  # not waited for: other members may wait for answers that never come
        self._schedule.stop()
        return stopped

    def _write_tables(self) -> Deferred[object] | None:
        if not self._is_up:
            return None
        self.broker.pop.orders.persist()
        self.broker.tables.persist()
        self.broker.delays.persist()
        # A table that changed while it was written is written again: the second round is for those.
        return self._worker_round().addCallback(lambda _: self._worker_round())

    def _worker_round(self) -> Deferred[object]:
        """Return a Deferred that fires when the worker has finished its queue, and callbacks have run."""
        done: Deferred[object] = Deferred()
        self._worker.run(lambda: None, done.callback)
        return done

    def _close_files(self) -> None:
        self._is_closed = True
        self.broker.store.stop()
        self.broker.delays.close()
        self.broker.timers.close()
        self.broker.tables.close()
        if self._access is not None:
            self._access.close()

    def _slow_tick(self) -> None:
        clients = self.broker.clients
        for peer in clients.expire():
            peer.close("no heartbeat for too long")
        clients.locks.expire(elapsed_millis(self.broker.clock))
        self.periodic_work.note_counts()
        self.broker.tables.retry()
        if self._access is not None:
            self._access.retry()

    def _clean_mappings(self) -> None:
        if static_cleaning.is_time(self.broker):
            static_cleaning.clean(self.broker)

    def _scan_broadcasts(self) -> None:
        broker = self.broker
        broker.consume.broadcasts.scan(broker.clients.consumer_ids, broker.tables.offsets.commit)

    def _shut_out_slow_consumers(self) -> None:
        self.broker.consume.slow_consumers.shut_out(self.broker.tables.groups)

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        if after.kind is RoleKind.MASTER and before.kind in (RoleKind.SLAVE, RoleKind.ACTING):
            self.broker.clients.note_succession()
            self._notify_clients()  # at once: clients must query members before they learn the new route

    def _notify_clients_soon(self) -> None:
        is_lazy = not self.broker.options.real_time_notify_consumer_change
        self._schedule.later(LAZY_NOTICE_SECONDS if is_lazy else NOTICE_SECONDS, self._notify_clients)

    def _notify_clients(self) -> None:
        """Notify members of changed groups to rebalance."""
        for client, group in self.broker.clients.take_notices():
            client.outgoing.members_changed(group)


def _free_port(host: str) -> int:
    """Return a free port whose neighbours, the fast port below and the HA port above, are free too."""
    for _ in range(100):
        with socket.socket() as main, socket.socket() as fast, socket.socket() as replication:
            main.bind((host, 0))
            port: int = main.getsockname()[1]
            try:
                fast.bind((host, port - FAST_PORT_DISTANCE))
                replication.bind((host, port + 1))
            except (OSError, OverflowError):
                continue
            return port
    raise OSError("no three free ports at the right distances")
