"""The broker as it runs: its parts, its timers, its sockets.

`BrokerService` puts the parts together and moves their time; what it answers stands in `requests`. One beat
of 100 ms drives the store, held pulls, delayed messages and transactions; slower ones expire clients, sample
counts, write offsets. Standard: `BrokerController`.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, gatherResults, maybeDeferred
from twisted.internet.task import LoopingCall

from mqgateway.engine import cold_reads, slow_consumers
from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.message import SCHEDULE_TOPIC
from mqgateway.engine.options import (
    BrokerOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
)
from mqgateway.engine.overlay import Overlay
from mqgateway.engine.pop.foreign import ForeignMessages
from mqgateway.engine.steps import Steps, run_for
from mqgateway.engine.tables import broadcasts
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.worker import Worker
from mqgateway.gateway.broker.acting.escape import EscapeSender
from mqgateway.gateway.broker.acting.foreign_messages import ForeignReader
from mqgateway.gateway.broker.acting.services import SpecialServices
from mqgateway.gateway.broker.assembly import build_broker
from mqgateway.gateway.broker.body_limits import limits_of_bodies
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.registration import Registration
from mqgateway.gateway.broker.consume.long_polling import resume_all
from mqgateway.gateway.broker.refusals import refusal
from mqgateway.gateway.broker.replication import slave_tables
from mqgateway.gateway.broker.replication.membership import Membership
from mqgateway.gateway.broker.replication.replication import Replication
from mqgateway.gateway.broker.requests import NOT_ON_FAST_PORT, REQUESTS, UNSUPPORTED
from mqgateway.gateway.broker.static_topics import cleaning as static_cleaning
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.dispatch import Dispatcher, Hook
from mqgateway.gateway.remoting.loop import Reactor, Timer
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.threads import ThreadWorker
from mqgateway.gateway.remoting.tls import ClientTls, ServerTls

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.1
IDLE_BEAT_SECONDS = 0.4
"""The beat when nothing is stored or waits for its delay; a held pull may be answered so much late."""
BACKLOG_SECONDS = 0.002
"""The beat when more timers are due than are delivered in one go."""
SLOW_BEAT_SECONDS = 10.0
NOTE_SECONDS = 0.005
"""How long the loop is held up to note where counts stand; the rest follows with the next beats."""
NOTICE_SECONDS = 0.02
"""Changes of members within this time are told together."""
LAZY_NOTICE_SECONDS = 15.0  # without `realTimeNotifyConsumerChange`
FIRST_REGISTRATION_SECONDS = 1.0  # how long a start waits for the name servers
HELD_SECONDS = 1.0  # how often a disk that took no writes at the start is tried again
FOREVER = 2**62
FAST_PORT_DISTANCE = 2  # how far the port that serves no pulls lies below the main one


class BrokerService:
    """A broker on its two ports. Nothing happens before `start`.

    Names and addresses in the options must have been filled in. `settings` are all options of the process as
    properties (requests 25 and 26), made of the given ones when there is none; `worker` is a thread unless
    another is given. `before_registering` is called when the ports listen and name servers have yet to be
    told. After `start`, `port` and `fast_port` are the ports in use.
    """

    def __init__(
        self,
        options: BrokerOptions,
        store_options: StoreOptions,
        remoting: RemotingOptions,
        tls: TlsOptions,
        *,
        reactor: Reactor,
        clock: Clock,
        disk: Disk,
        settings: OptionSet | None = None,
        worker: Worker | None = None,
        hooks: Sequence[Hook] = (),
        before_registering: Callable[[], None] = lambda: None,
    ) -> None:
        self._before_registering = before_registering
        self._options = options
        self._store_options = store_options
        self._remoting = remoting
        self._reactor = reactor
        self._clock = clock
        self._disk = Overlay(disk)
        self._worker, aside, self._threads = _workers(worker, reactor, store_options.cold_read_threads)
        self._beat_timer: Timer | None = None
        self._beaten_offset = -1
        self._timers: list[LoopingCall] = []
        self._notice_timer: Timer | None = None
        self._rest_timer: Timer | None = None
        self._noting: Steps[None] | None = None
        self._stopped: Deferred[None] | None = None
        self._is_closed = self._is_writing_held = self._puts_no_more = False
        self.port = options.listen_port or _free_port(remoting.bind_address)
        self.fast_port = max(0, self.port - FAST_PORT_DISTANCE)
        self._client = RemotingClient(
            reactor, remoting, tls=ClientTls(tls, disk) if remoting.use_tls else None, clock=clock
        )
        everything = OptionSet(options, remoting, store_options, tls) if settings is None else settings
        self.broker = build_broker(
            options,
            store_options,
            everything,
            disk=self._disk,
            clock=clock,
            worker=self._worker,
            aside=aside,
            port=self.port,
            ask=self._client.request,
            register_soon=lambda: self.registration.soon(),
            when_registered=self._when_registered,
        )
        self._ha_port = store_options.ha_listen_port or self.port + 1
        self.replication, self.registration = self._join(reactor)
        self.services, self.membership = self._enter_group()
        self.broker.topics.on_change = self._tell_topics
        self.broker.clients.on_notice = self._tell_clients_soon
        self.broker.timers.on_set = self.beat_within
        self.broker.store.on_rest = self._dispatch_soon
        self.dispatcher, self.fast_dispatcher = _dispatchers(self.broker, remoting, clock, hooks)
        self._server = RemotingServer(
            reactor,
            self.dispatcher,
            remoting,
            tls=ServerTls(tls, disk),
            after_read=self.replication.after_read,
        )

    def _when_registered(self, within: float | None = None) -> Deferred[None]:
        return self.registration.heard(within)

    def _join(self, reactor: Reactor) -> tuple[Replication, Registration]:
        """The broker's part among its replicas, and its entry with the name servers."""
        options, broker = self._options, self.broker
        address = f"{options.broker_ip1}:{self.port}"
        broker.replication = replication = Replication(broker, reactor, self._client.request, address)
        return replication, Registration(
            options,
            broker.topics,
            broker.mappings,
            self._client,
            reactor,
            role=broker.role,
            address=address,
            ha_address=f"{options.broker_ip2}:{self._ha_port}",
            on_master=replication.told,
        )

    def _enter_group(self) -> tuple[SpecialServices, Membership]:
        """What the broker does of its own accord, and what it knows of who else could."""
        broker, client, replication, registration = (
            self.broker,
            self._client,
            self.replication,
            self.registration,
        )
        reader = ForeignReader(self._options, client.request, broker.neighbours.ask_name_server)
        broker.pops.log.foreign = ForeignMessages(reader.read, self._options.max_escapes_under_way)
        escape = None
        if self._options.enable_slave_acting_master:
            sender = EscapeSender(
                self._options, self._clock, client.request, broker.neighbours.ask_name_server
            )
            escape = Escape(sender.send, self._options.max_escapes_under_way)
            escape.on_ended = lambda: self.beat_within(0)
        services = SpecialServices(broker, lambda: replication.tables, escape)
        broker.membership = membership = Membership(
            broker,
            services,
            client.request,
            client.send_oneway,
            address=f"{self._options.broker_ip1}:{self.port}",
            ha_address=f"{self._options.broker_ip2}:{self._ha_port}",
            begin=registration.start,
            heartbeat=lambda: registration.version_query(oneway=True),
            follow=replication.follow,
            following=lambda: replication.following,
            on_master=replication.release_readers,
        )
        return services, membership

    @property
    def entries(self) -> int:
        """How many topics, groups and queues there are."""
        broker = self.broker
        return len(broker.topics) + len(broker.groups) + broker.store.admin.queue_count

    def start(self) -> Deferred[None]:
        """Recover the store, load the tables, listen, register; fires when clients can be served.

        Fails with what loading and listening fail with. A name server that does not answer is not waited for.
        """
        return maybeDeferred(self._start)

    def stop(self) -> Deferred[None]:
        """Leave the name servers, answer what was taken up, write everything. Fires when all is closed."""
        if self._stopped is None:
            self.membership.stop()
            self._stopped = self.registration.stop()
            self._stopped.addCallback(lambda _: gatherResults([self._server.stop(), self._client.close()]))
            self._stopped.addCallback(lambda _: self._put_no_more())
            self._stopped.addCallback(lambda _: self.replication.settle())
            self._stopped.addCallback(lambda _: None if self._is_closed else self._close())
        return self._stopped

    def _put_no_more(self) -> None:
        """All have their answers: write the last records now, so that slaves get them too."""
        self._puts_no_more = True
        if not self._is_closed:
            self.broker.transactions.close()
            self.broker.store.dispatch()

    def _start(self) -> Deferred[None]:
        broker, bind = self.broker, self._remoting.bind_address
        try:
            self._open_store()
            self._server.listen(bind, self.port)
            if self.fast_port:
                self._server.listen(bind, self.fast_port, self.fast_dispatcher)
            self.replication.listen(bind, self._ha_port)
            self._before_registering()
        except Exception:
            self._close_store(None)
            raise
        self._beat_timer = self._reactor.callLater(BEAT_SECONDS, self._beat)
        self._every(SLOW_BEAT_SECONDS, self._slow_beat)
        self._every(slave_tables.TICK_SECONDS, self.replication.sync_tables)
        self._every(self._options.flush_consumer_offset_interval / 1000, broker.pops.persist)
        self._every(self._store_options.flush_delay_offset_interval / 1000, broker.delays.persist)
        self._every(
            self._options.transaction_metric_flush_interval / 1000, broker.transactions.counts.persist
        )
        self._every(broadcasts.SCAN_SECONDS, self._scan_broadcasts)
        self._every(cold_reads.TICK_SECONDS, broker.cold_reads.tick)
        self._every(slow_consumers.PROTECT_SECONDS, lambda: broker.laggards.shut_out(broker.groups))
        self._every(static_cleaning.CLEAN_SECONDS, self._clean_mappings)
        for queues in (broker.topic_queues, broker.lites.homes):
            self._every(self._options.load_balance_poll_name_server_interval / 1000, queues.refresh)
        log.info("broker %s listens on %s:%d", self._options.broker_name, bind, self.port)
        registered = self.membership.start()
        registered.addTimeout(FIRST_REGISTRATION_SECONDS, self._reactor)  # type: ignore[arg-type]
        return registered.addErrback(lambda _: None)

    def _open_store(self) -> None:
        """Load and recover; what the disk does not take is held back until it does."""
        broker = self.broker
        self._disk.begin()
        # What is rebuilt of the queues depends on the kind of the topic.
        broker.topics.load()
        broker.mappings.load()
        broker.store.start()
        if broker.role.is_master:
            broker.topics.restore(broker.store.admin.topics_with_messages(), broker.store.admin.attributes_of)
        for table in (broker.groups, broker.offsets, broker.filters, broker.delays):
            table.load()
        broker.request_modes.load()
        self.services.load()
        self._disk.end()
        broker.store.disk_settled(self._disk.refusal)
        if self._disk.refusal:
            self._every(HELD_SECONDS, self._write_held)

    def _write_held(self) -> None:
        """Try to write what the start could not."""
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
            log.warning("the disk takes writes, but not all yet: %s; tried again", error)
        else:
            log.warning("the disk takes writes again: messages are taken")

    def _close(self) -> Deferred[None]:
        """What was read is answered and nothing more comes in."""
        self.replication.stop()
        while self._timers:
            self._timers.pop().stop()
        for one in (self._beat_timer, self._notice_timer):
            if one is not None and one.active():
                one.cancel()
        self.broker.pops.orders.persist()
        self.broker.offsets.persist()
        self.broker.delays.persist()
        self.broker.filters.persist()
        # A table that changes while it is written is written again then: the second round is for those.
        return self._worker_round().addCallback(lambda _: self._worker_round()).addCallback(self._close_store)

    def _worker_round(self) -> Deferred[object]:
        """Fires when the worker has done what it was given, and everybody has been told."""
        done: Deferred[object] = Deferred()
        self._worker.run(lambda: None, done.callback)
        return done

    def _close_store(self, _: object) -> None:
        self._is_closed = True
        for threads in self._threads:
            threads.stop()
        self.broker.store.stop()
        if self._rest_timer is not None:
            self._rest_timer.cancel()
        self.broker.delays.close()
        self.broker.timers.close()
        self.broker.topics.close()
        self.broker.groups.close()

    def _every(self, seconds: float, work: Callable[[], object]) -> None:
        def guarded() -> None:  # a LoopingCall ends with the first exception
            try:
                work()
            except Exception:
                log.exception("what is done every %g s failed", seconds)

        timer = LoopingCall(guarded)
        timer.clock = self._reactor  # type: ignore[assignment]
        timer.start(seconds, now=False)
        self._timers.append(timer)

    def _beat(self) -> None:
        try:
            self._do_what_is_due()
        except Exception:
            log.exception("what is due cannot be done")
        seconds = BEAT_SECONDS if self._is_busy() else IDLE_BEAT_SECONDS
        wait = self.broker.timers.wait_millis(self.broker.store.steady.now())
        if self.services.is_behind:
            wait = 0
        if wait is not None:
            seconds = min(seconds, max(wait / 1000, BACKLOG_SECONDS))
        self._beat_timer = self._reactor.callLater(seconds, self._beat)

    def beat_within(self, millis: int) -> None:
        """Beat sooner than was planned: there is a timer that is due then."""
        seconds, timer = max(millis / 1000, BACKLOG_SECONDS), self._beat_timer
        if timer is not None and timer.active() and timer.getTime() - self._reactor.seconds() > seconds:
            timer.reset(seconds)

    def _dispatch_soon(self) -> None:
        if self._rest_timer is None:
            self._rest_timer = self._reactor.callLater(0, self._dispatch_rest)

    def _dispatch_rest(self) -> None:
        self._rest_timer = None
        self.broker.store.dispatch()

    def _do_what_is_due(self) -> None:
        broker = self.broker
        broker.store.tick()
        now = broker.store.steady.now()
        self._note_counts()
        self.replication.tick()
        self.membership.tick()
        if self._puts_no_more:
            return
        # Once we stop nobody waits any longer, or the connections would never be settled.
        elapsed = FOREVER if self._stopped is not None else elapsed_millis(self._clock)
        self.services.tick(now, elapsed)
        broker.lites.tick(now, elapsed)
        if broker.holds:
            resume_all(broker.holds.due(elapsed, broker.store.max_offset))

    def _is_busy(self) -> bool:
        """Whether something was stored since the last beat, waits for its delay, or must be let go."""
        store, delays = self.broker.store, self.broker.delays
        before, self._beaten_offset = self._beaten_offset, store.max_physical_offset
        if before != self._beaten_offset or self._stopped is not None or self.broker.transactions.is_walking:
            return True
        if self.broker.pops.is_busy or self.broker.lites.is_busy:
            return True
        done = delays.offsets
        return any(
            store.max_offset(SCHEDULE_TOPIC, level - 1) > done.get(level, 0)
            for level in range(1, self.broker.delay_levels.max_level + 1)
        )

    def _slow_beat(self) -> None:
        broker, now = self.broker, self._clock.millis()
        for peer in broker.clients.expire():
            peer.close("no heartbeat for too long")
        broker.locks.expire(elapsed_millis(self._clock))
        if self._noting is None:
            self._noting = broker.stats.tick(now, elapsed_millis(self._clock))
            self._note_counts()
        broker.topics.retry()
        broker.mappings.retry()
        broker.groups.retry()
        broker.request_modes.retry()
        broker.filters.persist()

    def _note_counts(self) -> None:
        """Go on noting what was counted, if that is under way."""
        if self._noting is not None and run_for(self._noting, self._clock, NOTE_SECONDS):
            self._noting = None

    def _clean_mappings(self) -> None:
        if static_cleaning.is_time(self.broker):
            static_cleaning.clean(self.broker)

    def _scan_broadcasts(self) -> None:
        broker = self.broker
        broker.broadcasts.scan(broker.clients.consumer_ids, broker.offsets.commit)

    def _tell_topics(self, configs: Sequence[TopicConfig]) -> None:
        for config in configs:
            self.registration.soon(config.topic_name)

    def _tell_clients_soon(self) -> None:
        is_lazy = not self._options.real_time_notify_consumer_change
        delay = LAZY_NOTICE_SECONDS if is_lazy else NOTICE_SECONDS
        self._notice_timer = self._reactor.callLater(delay, self._tell_clients)

    def _tell_clients(self) -> None:
        """The members of groups that changed share the queues anew."""
        for client, group in self.broker.clients.take_notices():
            client.outgoing.members_changed(group)


def _dispatchers(
    broker: Broker, remoting: RemotingOptions, clock: Clock, hooks: Sequence[Hook]
) -> tuple[Dispatcher, Dispatcher]:
    """What answers on the main port, and on the fast one."""
    fast = {code: function for code, function in REQUESTS.items() if code not in NOT_ON_FAST_PORT}

    def count_refused(command: RemotingCommand, peer: Peer) -> None:
        broker.flow_control.count("requests in flight", f"{peer.address}, request {command.code}")

    refused = UNSUPPORTED | dict.fromkeys(NOT_ON_FAST_PORT, "what may wait is asked on the main port")
    limits = limits_of_bodies(REQUESTS, remoting, broker.options)
    main_port, fast_port = (
        Dispatcher(broker, table, others, clock=clock, hooks=hooks, limits=limits, refusal=refusal)
        for table, others in ((REQUESTS, UNSUPPORTED), (fast, refused))
    )
    main_port.on_refused = fast_port.on_refused = count_refused
    return main_port, fast_port


def _workers(
    given: Worker | None, reactor: Reactor, threads: int
) -> tuple[Worker, Worker | None, list[ThreadWorker]]:
    """What works, what reads where that waits for the disk, and which threads they are, if none was given."""
    if given is not None:
        return given, None, []
    worker = ThreadWorker(reactor)  # type: ignore[arg-type]
    aside = ThreadWorker(reactor, threads, "reads")  # type: ignore[arg-type]
    return worker, aside, [aside, worker]


def _free_port(host: str) -> int:
    """A port that is free together with the fast one below it and that for slaves above."""
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
