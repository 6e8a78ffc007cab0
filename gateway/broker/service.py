"""The broker as it runs: which code is answered by what, its parts, its timers, its sockets.

`BrokerService` puts the parts together and moves their time; `REQUESTS` is what it answers, `UNSUPPORTED`
what it does not and why. One beat of 100 ms drives the store, held pulls and delayed messages; slower ones
expire clients, sample counts and write offsets. Standard: `BrokerController`.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, gatherResults, maybeDeferred
from twisted.internet.task import LoopingCall

from engine.clock import Clock
from engine.disk import Disk
from engine.message import SCHEDULE_TOPIC
from engine.options import BrokerOptions, OptionSet, RemotingOptions, StoreOptions, TlsOptions
from engine.topics import TopicConfig
from engine.worker import Worker
from gateway.broker import (
    admin_broker,
    admin_consumers,
    admin_groups,
    admin_progress,
    admin_tables,
    admin_topics,
    heartbeats,
    locks,
    offsets,
    pull,
    query,
    send,
    send_back,
)
from gateway.broker.longpoll import monotonic_millis, resume_all
from gateway.broker.parts import build_broker
from gateway.broker.registration import Registration
from gateway.codec.codes import RequestCode
from gateway.codec.command import RemotingCommand
from gateway.codec.headers import NotifyConsumerIdsChangedRequestHeader
from gateway.remoting.client import RemotingClient
from gateway.remoting.dispatch import Dispatcher, Hook, RequestFunction
from gateway.remoting.exchange import RemotingError
from gateway.remoting.loop import Reactor, Timer
from gateway.remoting.server import RemotingServer
from gateway.remoting.threads import ThreadWorker
from gateway.remoting.tls import ClientTls, ServerTls

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.1
IDLE_BEAT_SECONDS = 0.4
"""The beat when nothing is stored or waits for its delay; a held pull may be answered so much late."""
SLOW_BEAT_SECONDS = 10.0
NOTICE_SECONDS = 0.02
"""Changes of members within this time are told together."""
LAZY_NOTICE_SECONDS = 15.0  # without `realTimeNotifyConsumerChange`
FIRST_REGISTRATION_SECONDS = 1.0  # how long a start waits for the name servers
FOREVER = 2**62
FAST_PORT_DISTANCE = 2  # how far the port that serves no pulls lies below the main one

REQUESTS: dict[int, RequestFunction] = {
    # Messages
    RequestCode.SEND_MESSAGE: send.send_message,
    RequestCode.SEND_MESSAGE_V2: send.send_message,
    RequestCode.SEND_BATCH_MESSAGE: send.send_message,
    RequestCode.CONSUMER_SEND_MSG_BACK: send_back.send_back,
    RequestCode.PULL_MESSAGE: pull.pull_message,
    RequestCode.LITE_PULL_MESSAGE: pull.pull_message,
    RequestCode.QUERY_MESSAGE: query.query_message,
    RequestCode.VIEW_MESSAGE_BY_ID: query.view_message,
    RequestCode.QUERY_CONSUME_QUEUE: query.query_consume_queue,
    # Offsets
    RequestCode.QUERY_CONSUMER_OFFSET: offsets.query_offset,
    RequestCode.UPDATE_CONSUMER_OFFSET: offsets.update_offset,
    RequestCode.CLONE_GROUP_OFFSET: offsets.clone_offset,
    RequestCode.GET_ALL_CONSUMER_OFFSET: offsets.all_offsets,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: query.search_offset,
    RequestCode.GET_MAX_OFFSET: query.max_offset,
    RequestCode.GET_MIN_OFFSET: query.min_offset,
    RequestCode.GET_EARLIEST_MSG_STORETIME: query.earliest_store_time,
    # Clients
    RequestCode.HEART_BEAT: heartbeats.heart_beat,
    RequestCode.UNREGISTER_CLIENT: heartbeats.unregister_client,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: heartbeats.consumer_list,
    RequestCode.CHECK_CLIENT_CONFIG: heartbeats.check_client_config,
    RequestCode.LOCK_BATCH_MQ: locks.lock_queues,
    RequestCode.UNLOCK_BATCH_MQ: locks.unlock_queues,
    # Administration: topics
    RequestCode.UPDATE_AND_CREATE_TOPIC: admin_topics.update_topic,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: admin_topics.update_topics,
    RequestCode.DELETE_TOPIC_IN_BROKER: admin_topics.delete_topic,
    RequestCode.GET_ALL_TOPIC_CONFIG: admin_tables.all_topics,
    RequestCode.GET_TOPIC_CONFIG: admin_topics.topic_config,
    RequestCode.GET_TOPIC_STATS_INFO: admin_topics.topic_stats,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: admin_topics.groups_of_topic,
    RequestCode.QUERY_CONSUME_TIME_SPAN: admin_topics.time_spans,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: admin_topics.system_topics,
    # Administration: groups
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: admin_groups.update_group,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: admin_groups.update_groups,
    RequestCode.DELETE_SUBSCRIPTIONGROUP: admin_groups.delete_group,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: admin_tables.all_groups,
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: admin_groups.group_config,
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: admin_groups.forbid,
    # Administration: clients and their progress
    RequestCode.GET_CONSUMER_CONNECTION_LIST: admin_consumers.consumer_connections,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: admin_consumers.producer_connections,
    RequestCode.GET_ALL_PRODUCER_INFO: admin_consumers.all_producers,
    RequestCode.QUERY_TOPICS_BY_CONSUMER: admin_consumers.topics_of_consumer,
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: admin_consumers.subscription_of_consumer,
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: admin_consumers.consumer_status,
    RequestCode.GET_CONSUMER_RUNNING_INFO: admin_consumers.consumer_running_info,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: admin_consumers.consume_directly,
    RequestCode.GET_CONSUME_STATS: admin_progress.consume_stats,
    RequestCode.GET_BROKER_CONSUME_STATS: admin_progress.all_consume_stats,
    RequestCode.QUERY_CORRECTION_OFFSET: admin_progress.correction_offset,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: admin_progress.reset_offset,
    # Administration: the broker itself
    RequestCode.UPDATE_BROKER_CONFIG: admin_broker.update_config,
    RequestCode.GET_BROKER_CONFIG: admin_broker.get_config,
    RequestCode.GET_BROKER_RUNTIME_INFO: admin_broker.runtime_info,
    RequestCode.VIEW_BROKER_STATS_DATA: admin_broker.view_stats,
    RequestCode.GET_ALL_DELAY_OFFSET: admin_tables.delay_offsets,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: admin_broker.clean_queues,
    RequestCode.CLEAN_UNUSED_TOPIC: admin_broker.clean_unused_topics,
    RequestCode.DELETE_EXPIRED_COMMITLOG: admin_broker.delete_expired_log,
}

NOT_ON_FAST_PORT = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE})
"""Served on the main port only, so that the fast one never waits. Standard: `registerProcessor`."""

_OF_NAME_SERVERS = "name servers answer this"
_TO_CLIENTS = "brokers send this to clients, nobody sends it to a broker"
_NO_TRANSACTIONS = "transactional messages are not there yet"
_NO_POP = "pop consumption is not there yet"
_NO_LITE = "lite topics are not there yet"
_NO_TIMERS = "timers of any time are not there yet; delay levels are"
_NO_REPLIES = "request and reply is not there yet"
_NO_ACCESS_CONTROL = "users and policies are not there yet"
_NO_REPLICAS = "replicas are not there yet"
_NO_STATIC_TOPICS = "static topics are not there yet"
_OF_CONTROLLERS = "controllers answer this"
_OF_CONTAINERS = "broker containers answer this"
_OF_RAFT = "an entry of the controllers' own log, no request"
_NO_ROCKSDB = "nothing is kept in RocksDB"
_NO_COLD_DATA = "old messages are read like all others"
_OF_THE_PAST = "no broker of version 5 answers this"


def _called(prefix: str) -> tuple[RequestCode, ...]:
    return tuple(code for code in RequestCode if code.name.startswith(prefix))


_BY_REASON: dict[str, tuple[RequestCode, ...]] = {
    _OF_NAME_SERVERS: (
        RequestCode.PUT_KV_CONFIG,
        RequestCode.GET_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.REGISTER_BROKER,
        RequestCode.UNREGISTER_BROKER,
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        RequestCode.REGISTER_TOPIC_IN_NAMESRV,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        RequestCode.UPDATE_NAMESRV_CONFIG,
        RequestCode.GET_NAMESRV_CONFIG,
        RequestCode.QUERY_DATA_VERSION,
        RequestCode.GET_BROKER_MEMBER_GROUP,
        RequestCode.BROKER_HEARTBEAT,
    ),
    _TO_CLIENTS: (
        RequestCode.CHECK_TRANSACTION_STATE,
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
        RequestCode.GET_CLIENT_CONFIG,
        RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER,
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
        RequestCode.NOTIFY_UNSUBSCRIBE_LITE,
    ),
    _NO_TRANSACTIONS: (RequestCode.END_TRANSACTION, RequestCode.RESUME_CHECK_HALF_MESSAGE),
    _NO_POP: (
        RequestCode.QUERY_ASSIGNMENT,
        RequestCode.SET_MESSAGE_REQUEST_MODE,
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.POP_MESSAGE,
        RequestCode.ACK_MESSAGE,
        RequestCode.BATCH_ACK_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
        RequestCode.POP_ROLLBACK,
    ),
    _NO_LITE: (
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.LITE_SUBSCRIPTION_CTL,
        RequestCode.ACK_LITE_MESSAGE,
        RequestCode.GET_BROKER_LITE_INFO,
        RequestCode.GET_PARENT_TOPIC_INFO,
        RequestCode.GET_LITE_TOPIC_INFO,
        RequestCode.GET_LITE_CLIENT_INFO,
        RequestCode.GET_LITE_GROUP_INFO,
        RequestCode.TRIGGER_LITE_DISPATCH,
    ),
    _NO_TIMERS: (
        RequestCode.GET_TIMER_CHECK_POINT,
        RequestCode.GET_TIMER_METRICS,
        RequestCode.RECALL_MESSAGE,
        RequestCode.SWITCH_TIMER_ENGINE,
    ),
    _NO_REPLIES: (RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
    _NO_ACCESS_CONTROL: _called("AUTH_"),
    _NO_REPLICAS: (
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
        RequestCode.EXCHANGE_BROKER_HA_INFO,
        RequestCode.GET_BROKER_HA_STATUS,
        RequestCode.RESET_MASTER_FLUSH_OFFSET,
        RequestCode.GET_BROKER_EPOCH_CACHE,
        RequestCode.NOTIFY_BROKER_ROLE_CHANGED,
    ),
    _NO_STATIC_TOPICS: (RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,),
    _OF_CONTROLLERS: (
        *_called("CONTROLLER_"),
        RequestCode.UPDATE_CONTROLLER_CONFIG,
        RequestCode.GET_CONTROLLER_CONFIG,
        RequestCode.CLEAN_BROKER_DATA,
    ),
    _OF_CONTAINERS: (RequestCode.ADD_BROKER, RequestCode.REMOVE_BROKER),
    _OF_RAFT: (
        RequestCode.BROKER_CLOSE_CHANNEL_REQUEST,
        RequestCode.CHECK_NOT_ACTIVE_BROKER_REQUEST,
        RequestCode.GET_BROKER_LIVE_INFO_REQUEST,
        RequestCode.GET_SYNC_STATE_DATA_REQUEST,
        RequestCode.RAFT_BROKER_HEART_BEAT_EVENT_REQUEST,
    ),
    _NO_ROCKSDB: (
        RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS,
        RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON,
    ),
    _NO_COLD_DATA: (
        RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.GET_COLD_DATA_FLOW_CTR_INFO,
        RequestCode.SET_COMMITLOG_READ_MODE,
    ),
    _OF_THE_PAST: (
        RequestCode.QUERY_BROKER_OFFSET,
        RequestCode.GET_TOPIC_CONFIG_LIST,
        RequestCode.GET_TOPIC_NAME_LIST,
        RequestCode.TRIGGER_DELETE_FILES,
        RequestCode.SUSPEND_CONSUMER,
        RequestCode.RESUME_CONSUMER,
        RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER,
        RequestCode.ADJUST_CONSUMER_THREAD_POOL,
        RequestCode.WHO_CONSUME_THE_MESSAGE,
        RequestCode.REGISTER_FILTER_SERVER,
        RequestCode.REGISTER_MESSAGE_FILTER_CLASS,
    ),
}

UNSUPPORTED: dict[int, str] = {code: reason for reason, codes in _BY_REASON.items() for code in codes}
"""Every other code of the protocol, and why a broker does not answer it."""


class BrokerService:
    """A broker on its two ports. Nothing happens before `start`.

    Names and addresses in the options must have been filled in. `settings` are all options of the process as
    properties (requests 25 and 26), made of the given ones when there is none; `worker` is a thread unless
    another is given. After `start`, `port` and `fast_port` are the ports in use.
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
    ) -> None:
        self._options = options
        self._store_options = store_options
        self._remoting = remoting
        self._reactor = reactor
        self._clock = clock
        self._threads: ThreadWorker | None = None
        if worker is None:
            worker = self._threads = ThreadWorker(reactor)  # type: ignore[arg-type]
        self._worker: Worker = worker
        self._beat_timer: Timer | None = None
        self._beaten_offset = -1
        self._timers: list[LoopingCall] = []
        self._notice_timer: Timer | None = None
        self._stopped: Deferred[None] | None = None
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
            disk=disk,
            clock=clock,
            worker=worker,
            port=self.port,
            register_soon=lambda: self.registration.soon(),
        )
        self.registration = Registration(
            options,
            self.broker.topics,
            self._client,
            reactor,
            address=f"{options.broker_ip1}:{self.port}",
            ha_address=f"{options.broker_ip2}:{store_options.ha_listen_port or self.port + 1}",
        )
        self.broker.topics.on_change = self._tell_topics
        self.broker.clients.on_notice = self._tell_clients_soon
        self.dispatcher = Dispatcher(self.broker, REQUESTS, UNSUPPORTED, clock=clock, hooks=hooks)
        self.fast_dispatcher = Dispatcher(
            self.broker,
            {code: function for code, function in REQUESTS.items() if code not in NOT_ON_FAST_PORT},
            UNSUPPORTED | dict.fromkeys(NOT_ON_FAST_PORT, "what may wait is asked on the main port"),
            clock=clock,
            hooks=hooks,
        )
        self._server = RemotingServer(
            reactor,
            self.dispatcher,
            remoting,
            tls=ServerTls(tls, disk),
            after_read=self.broker.store.dispatch,
        )

    def start(self) -> Deferred[None]:
        """Recover the store, load the tables, listen, register; fires when clients can be served.

        Fails with what loading and listening fail with. A name server that does not answer is not waited for.
        """
        return maybeDeferred(self._start)

    def stop(self) -> Deferred[None]:
        """Leave the name servers, answer what was taken up, write everything. Fires when all is closed."""
        if self._stopped is None:
            self._stopped = self.registration.stop()
            self._stopped.addCallback(lambda _: gatherResults([self._server.stop(), self._client.close()]))
            self._stopped.addCallback(lambda _: self._close())
        return self._stopped

    def _start(self) -> Deferred[None]:
        broker, bind = self.broker, self._remoting.bind_address
        try:
            broker.store.start()
            for table in (broker.topics, broker.groups, broker.offsets, broker.delays):
                table.load()
            self._server.listen(bind, self.port)
            if self.fast_port:
                self._server.listen(bind, self.fast_port, self.fast_dispatcher)
        except Exception:
            self._close_store(None)
            raise
        self._beat_timer = self._reactor.callLater(BEAT_SECONDS, self._beat)
        self._every(SLOW_BEAT_SECONDS, self._slow_beat)
        self._every(self._options.flush_consumer_offset_interval / 1000, broker.offsets.persist)
        self._every(self._store_options.flush_delay_offset_interval / 1000, broker.delays.persist)
        log.info("broker %s listens on %s:%d", self._options.broker_name, bind, self.port)
        registered = self.registration.start()
        registered.addTimeout(FIRST_REGISTRATION_SECONDS, self._reactor)  # type: ignore[arg-type]
        return registered.addErrback(lambda _: None)

    def _close(self) -> Deferred[None]:
        """What was read is answered and nothing more comes in."""
        while self._timers:
            self._timers.pop().stop()
        for one in (self._beat_timer, self._notice_timer):
            if one is not None and one.active():
                one.cancel()
        self.broker.offsets.persist()
        self.broker.delays.persist()
        # A table that changes while it is written is written again then: the second round is for those.
        return self._worker_round().addCallback(lambda _: self._worker_round()).addCallback(self._close_store)

    def _worker_round(self) -> Deferred[object]:
        """Fires when the worker has done what it was given, and everybody has been told."""
        done: Deferred[object] = Deferred()
        self._worker.run(lambda: None, done.callback)
        return done

    def _close_store(self, _: object) -> None:
        if self._threads is not None:
            self._threads.stop()
        self.broker.store.stop()
        self.broker.delays.close()

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
        self._beat_timer = self._reactor.callLater(
            BEAT_SECONDS if self._is_busy() else IDLE_BEAT_SECONDS, self._beat
        )

    def _do_what_is_due(self) -> None:
        broker = self.broker
        broker.delays.tick(self._clock.millis())
        broker.store.tick()
        if broker.holds:
            # Once we stop nobody waits any longer, or the connections would never be settled.
            now = FOREVER if self._stopped is not None else monotonic_millis(self._clock)
            resume_all(broker.holds.due(now, broker.store.max_offset))

    def _is_busy(self) -> bool:
        """Whether something was stored since the last beat, waits for its delay, or must be let go."""
        store, delays = self.broker.store, self.broker.delays
        before, self._beaten_offset = self._beaten_offset, store.max_physical_offset
        if before != self._beaten_offset or self._stopped is not None:
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
        broker.locks.expire(now)
        broker.stats.tick(now)
        broker.topics.retry()
        broker.groups.retry()

    def _tell_topics(self, configs: Sequence[TopicConfig]) -> None:
        for config in configs:
            self.registration.soon(config.topic_name)

    def _tell_clients_soon(self) -> None:
        is_lazy = not self._options.real_time_notify_consumer_change
        delay = LAZY_NOTICE_SECONDS if is_lazy else NOTICE_SECONDS
        self._notice_timer = self._reactor.callLater(delay, self._tell_clients)

    def _tell_clients(self) -> None:
        """40 NOTIFY_CONSUMER_IDS_CHANGED: the members share the queues anew."""
        for peer, group in self.broker.clients.take_notices():
            header = NotifyConsumerIdsChangedRequestHeader(consumer_group=group)
            command = RemotingCommand.request(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header, oneway=True)
            try:
                peer.send_oneway(command)
            except RemotingError as error:
                log.info("%s could not be told that group %s changed: %s", peer.address, group, error)


def _free_port(host: str) -> int:
    """A port that is free together with the fast one below it."""
    for _ in range(100):
        with socket.socket() as main, socket.socket() as fast:
            main.bind((host, 0))
            port: int = main.getsockname()[1]
            try:
                fast.bind((host, port - FAST_PORT_DISTANCE))
            except OSError:
                continue
            return port
    raise OSError("no two free ports at the right distance")
