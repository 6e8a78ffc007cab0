"""Assembly of a broker from its options: the store and the state of each package.

Nothing is read or written yet: the service starts the store and loads the tables. RocketMQ:
`BrokerController.initialize`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mqgateway.engine.compaction import Compaction
from mqgateway.engine.configuration import Configuration
from mqgateway.engine.delay_levels import DelayLevels
from mqgateway.engine.delays import DelaySchedule
from mqgateway.engine.ha.agreed_replicas import AgreedReplicas
from mqgateway.engine.ha.epochs import FILE_NAME as EPOCHS_FILE
from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.ha.replicas import Replicas
from mqgateway.engine.ha.role import ReplicationRole
from mqgateway.engine.options import OptionSet
from mqgateway.engine.pop.foreign import ForeignMessages
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.message_store import Arrival, MessageStore
from mqgateway.engine.store.removal import Removals
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.engine.timers.timers import Timers
from mqgateway.engine.topic_compaction import TopicCompaction
from mqgateway.engine.topic_retention import TopicRetention
from mqgateway.engine.transactions import TransactionCounts, TransactionLog
from mqgateway.gateway.broker.acting.escape import EscapeSender
from mqgateway.gateway.broker.acting.foreign_messages import ForeignReader
from mqgateway.gateway.broker.acting.services import SpecialServices
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import ClientTable
from mqgateway.gateway.broker.cluster.state import ClusterState
from mqgateway.gateway.broker.consume.state import ConsumeState
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.flow_control import FlowControl
from mqgateway.gateway.broker.lite.state import LiteState
from mqgateway.gateway.broker.pop.state import PopState
from mqgateway.gateway.broker.produce.state import ProduceState
from mqgateway.gateway.broker.replication.membership import BrokerMembership
from mqgateway.gateway.broker.replication.node_exchange import NodeExchange
from mqgateway.gateway.broker.replication.offset_limit import offset_limit
from mqgateway.gateway.broker.replication.peer_exchange import PeerExchange
from mqgateway.gateway.broker.replication.replication import Replication
from mqgateway.gateway.broker.replication.streams import EpochStream, PlainStream, ReplicationStream
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.broker.stats import BrokerStats
from mqgateway.gateway.broker.tables import Tables
from mqgateway.gateway.broker.waking import wake
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.runtime.loop import Clockwork, Reactor

if TYPE_CHECKING:
    from mqgateway.gateway.access.administration import AccessAdministration
    from mqgateway.gateway.broker.controlled.replica import ControlledReplica
    from mqgateway.gateway.broker.ledger.member import LedgerMember


def build_broker(
    environment: BrokerEnvironment,
    settings: OptionSet,
    *,
    client: RemotingClient,
    clockwork: Clockwork,
    is_turn: Callable[[], bool],
    access: AccessAdministration | None = None,
    on_notice: Callable[[], None] | None = None,
) -> Broker:
    """Return a broker that sends requests to other servers with `client`.

    `settings` are all options of the process. `is_turn` returns True while the requests of a read are served.
    `access` contains users and policies, if there are any. The table of clients calls `on_notice`.
    """
    options, clock = environment.options, environment.clock
    tables = Tables(environment, lambda: (store.min_physical_offset, store.max_physical_offset))
    role = ReplicationRole.initial(
        environment.store_options.broker_role,
        options.broker_id,
        is_assigned=options.enable_controller_mode or environment.store_options.enable_d_leger_commit_log,
    )
    removals = Removals(
        environment.disk, clock, environment.reader or environment.worker, environment.store_options
    )
    ledger = _ledger_log(environment, removals)
    store = _store(
        environment, role, tables.topics, lambda arrivals: wake(broker, arrivals), ledger, removals
    )
    stats = BrokerStats(options, clock.millis(), tables.topics.is_system)
    cluster = ClusterState(environment, tables, role, client, clockwork)
    replicas = _replicas(environment, store, ledger, lambda: _may_answer(broker))
    produce = ProduceState(environment, store, role, replicas)
    timers = _timers(environment, store, stats, tables.topics)
    reader = ForeignReader(options, client.request, cluster.name_servers)
    foreign = ForeignMessages(reader.read, options.max_escapes_under_way)
    broker = Broker(
        environment=environment,
        configuration=Configuration(settings, environment.disk, clock, options.broker_config_path),
        role=role,
        store=store,
        tables=tables,
        stats=stats,
        flow_control=FlowControl(clock, stats),
        clients=ClientTable(
            options,
            clock,
            on_group_gone=tables.filters.unregister,
            on_disagreement=stats.inconsistent,
            on_notice=on_notice,
        ),
        cluster=cluster,
        produce=produce,
        consume=ConsumeState(environment),
        pop=PopState(environment, tables, store, timers, stats, foreign, is_turn),
        lite=LiteState(environment, tables, store, cluster.writable_routes),
        delays=_delays(environment, store, stats, tables.topics),
        timers=timers,
        transactions=_transactions(environment, tables, store, produce, stats),
        retention=TopicRetention(environment.store_options, store, clock, tables.topics.all),
        compaction=_compaction(environment, store, tables.topics),
        access=access,
    )
    return broker


def _ledger_log(environment: BrokerEnvironment, removals: Removals) -> Log | None:
    """Return the log of a DLedger group; None outside a group, where the modules are not imported."""
    options = environment.store_options
    if not options.enable_d_leger_commit_log:
        return None
    from mqgateway.gateway.broker.ledger.parts import ledger_log

    return ledger_log(environment, removals.add)


def _replicas(
    environment: BrokerEnvironment, store: MessageStore, ledger: Log | None, may_answer: Callable[[], bool]
) -> Replicas:
    """Return the replicas that sends wait for; under a controller they are answered while `may_answer`."""
    if ledger is not None:
        from mqgateway.gateway.broker.ledger.parts import quorum_replicas

        return quorum_replicas(environment, store, ledger)
    if store.agreement is not None:
        return AgreedReplicas(environment.store_options, store.raw, store.agreement, may_answer)
    return Replicas(environment.store_options, store.raw)


def _may_answer(broker: Broker) -> bool:
    """Return True unless the broker is a replica of a controller that is not certainly the master."""
    return broker.controlled is None or broker.controlled.is_authorized()


def _store(
    environment: BrokerEnvironment,
    role: ReplicationRole,
    topics: TopicTable,
    on_arrivals: Callable[[list[Arrival]], None],
    commit_log: Log | None,
    removals: Removals,
) -> MessageStore:
    """Return the log with its queues. In compacted topics only the newest message of each key is kept."""
    options, worker = environment.store_options, environment.worker
    store = MessageStore(
        options,
        disk=environment.disk,
        clock=environment.clock,
        worker=worker,
        store_host=environment.store_host,
        on_arrivals=on_arrivals,
        is_batch_topic=topics.has_batch_queues,
        aside=environment.reader,
        commit_log=commit_log,
        removals=removals,
        older=environment.tier,
        gate=None if role.is_master else closed_gate(role.state.kind),
        agrees=environment.options.enable_controller_mode and commit_log is None,
    )
    if options.enable_compaction:
        store.compact_with(
            Compaction(
                options,
                disk=environment.disk,
                clock=environment.clock,
                worker=environment.reader or worker,
                root=options.store_path_root_dir,
                source=store,
                topics=topics.compacted,
                is_compacted=topics.is_compacted,
            )
        )
    return store


def _compaction(environment: BrokerEnvironment, store: MessageStore, topics: TopicTable) -> TopicCompaction:
    """Return the compaction of topics that Kafka made."""
    worker = environment.reader or environment.worker
    return TopicCompaction(
        environment.store_options, store, environment.disk, environment.clock, worker, topics.all
    )


def _delays(
    environment: BrokerEnvironment, store: MessageStore, stats: BrokerStats, topics: TopicTable
) -> DelaySchedule:
    """Return the schedule that delivers messages with a delay level."""
    store_options = environment.store_options

    def delivered(topic: str, size: int) -> None:
        if store_options.enable_schedule_message_stats:
            stats.delivered(topic, size)

    return DelaySchedule(
        store,
        DelayLevels(store_options.message_delay_level),
        environment.disk,
        environment.table_path("delayOffset.json"),
        environment.clock,
        environment.worker,
        max_per_tick=store_options.max_delayed_per_tick,
        version_step=environment.options.delay_offset_update_version_step,
        file_size=store_options.mapped_file_size_commit_log,
        on_delivered=delivered,
        leaves_out=topics.leaves_out,
    )


def _timers(
    environment: BrokerEnvironment, store: MessageStore, stats: BrokerStats, topics: TopicTable
) -> Timers:
    """Return the timers, which deliver timer messages; each counts as put into its topic."""
    return Timers(
        store,
        environment.store_options,
        environment.disk,
        environment.clock,
        environment.worker,
        on_delivered=stats.timer_delivered,
        leaves_out=topics.leaves_out,
    )


def _transactions(
    environment: BrokerEnvironment,
    tables: Tables,
    store: MessageStore,
    produce: ProduceState,
    stats: BrokerStats,
) -> TransactionLog:
    """Return the log that keeps half messages until their transactions end."""
    disk, clock, worker = environment.disk, environment.clock, environment.worker
    return TransactionLog(
        store,
        tables.topics,
        tables.offsets,
        TransactionCounts(disk, environment.table_path("transactionMetrics"), clock, worker),
        environment.options,
        environment.store_options,
        clock,
        produce.unique_keys,
        environment.store_host,
        stats,
    )


class GroupParticipation(NamedTuple):
    """A broker's part in its group of replicas, and the periodic work of a member."""

    replication: Replication
    services: SpecialServices
    membership: BrokerMembership
    escape: Escape | None
    controlled: ControlledReplica | None
    ledger: LedgerMember | None

    @property
    def after_read(self) -> Callable[[], None]:
        """Function to call after the requests of one read."""
        return self.replication.after_read if self.ledger is None else self.ledger.after_read


def join_group(broker: Broker, client: RemotingClient, reactor: Reactor) -> GroupParticipation:
    """Make the broker a member of its group: master, slave, or slave that acts for another master."""
    options, cluster = broker.options, broker.cluster
    epochs = Epochs(broker.environment.disk, _epochs_path(broker.environment))
    replicas = broker.produce.durability.replicas
    stream: ReplicationStream = PlainStream(broker.store_options, broker.store)
    if isinstance(replicas, AgreedReplicas):
        stream = EpochStream(
            broker.store_options, broker.store, broker.role, replicas, epochs, lambda: _forget_end(broker)
        )
    ledger = _ledger_member(broker, reactor)
    leader_sends_log = None if ledger is None else ledger.is_following
    replication = Replication(broker, reactor, client.request, stream, leader_sends_log)
    escape = None
    if options.enable_slave_acting_master:
        sender = EscapeSender(options, broker.clock, client.request, cluster.name_servers)
        escape = Escape(sender.send, options.max_escapes_under_way)
    services = SpecialServices(broker, lambda: replication.tables, escape, epochs)
    membership = BrokerMembership(broker, services, replication, client.request, client.send_oneway)
    controlled = None
    if isinstance(replicas, AgreedReplicas):
        from mqgateway.gateway.broker.controlled.replica import ControlledReplica

        controlled = ControlledReplica(broker, replication, replicas, epochs, client.request)
    cluster.registration.watch_master(replication.on_master if controlled is None else controlled.on_master)
    nodes = NodeExchange(
        broker,
        replication,
        client.request,
        _number_of(broker, controlled, ledger),
        lambda: replicas.in_sync_set.ids if isinstance(replicas, AgreedReplicas) else None,
    )
    broker.join(
        replication=replication,
        membership=membership,
        controlled=controlled,
        nodes=nodes,
        peers=PeerExchange(broker) if options.kafka_cluster_groups else None,
        epochs=epochs,
        term=None if ledger is None else ledger.term,
    )
    return GroupParticipation(replication, services, membership, escape, controlled, ledger)


def _number_of(
    broker: Broker, controlled: ControlledReplica | None, ledger: LedgerMember | None
) -> Callable[[], int]:
    """Return the function that returns the broker's number in its group, from 1 on; -1 while it has none."""
    if controlled is not None:
        return lambda: controlled.number
    if ledger is not None:
        return lambda: ledger.number
    return lambda: broker.options.broker_id + 1


def _ledger_member(broker: Broker, reactor: Reactor) -> LedgerMember | None:
    if not broker.store_options.enable_d_leger_commit_log:
        return None
    from mqgateway.gateway.broker.ledger.parts import ledger_member

    return ledger_member(broker, reactor)


def _epochs_path(environment: BrokerEnvironment) -> str:
    return environment.store_options.store_path_epoch_file or environment.path(EPOCHS_FILE)


def _forget_end(broker: Broker) -> None:
    """Limit delays, timers and consumer offsets to the end of the log, which was truncated."""
    broker.tables.offsets.forget_end(partial(offset_limit, broker))
    broker.delays.forget_end()
    broker.timers.forget_end()
