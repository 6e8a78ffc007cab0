"""Parts of a broker in a DLedger group that replace those of other brokers; imported by no other broker."""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.disk import total_memory
from mqgateway.engine.raft.ledger_log import LedgerLog
from mqgateway.engine.raft.quorum_replicas import QuorumReplicas
from mqgateway.engine.store.commit_log import newest_bytes
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.ledger.member import LedgerMember
from mqgateway.gateway.broker.ledger.settings import ledger_folder, member_settings
from mqgateway.gateway.runtime.loop import Reactor


def ledger_log(environment: BrokerEnvironment, remove: Callable[[str], None]) -> LedgerLog:
    """Return the log in the member's folder, not opened yet. `remove` deletes old files."""
    options = environment.store_options
    return LedgerLog(
        environment.disk,
        ledger_folder(options),
        options.mapped_file_size_commit_log,
        newest_bytes(options, total_memory()),
        options.store_path_d_ledger_commit_log,
        options.store_path_commit_log or environment.path("commitlog"),
        remove,
    )


def quorum_replicas(environment: BrokerEnvironment, store: MessageStore, ledger: Log) -> QuorumReplicas:
    """Return the replicas that sends wait for. Raises `ConfigError`."""
    assert isinstance(ledger, LedgerLog)
    settings = member_settings(environment.options, environment.store_options)
    majority, patience = settings.majority, settings.ack_timeout
    return QuorumReplicas(environment.store_options, store.raw, ledger, majority, patience)


def ledger_member(broker: Broker, reactor: Reactor) -> LedgerMember:
    """Return the broker as a member of its group. Raises `ConfigError`."""
    replicas = broker.produce.durability.replicas
    assert isinstance(replicas, QuorumReplicas)
    settings = member_settings(broker.options, broker.store_options)
    return LedgerMember(broker, replicas.ledger, replicas, settings, reactor)
