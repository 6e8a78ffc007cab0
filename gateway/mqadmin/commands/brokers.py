"""Commands about brokers: settings, figures, files.

Standard: the package `command.broker` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)
from mqgateway.gateway.mqadmin.rendering import each, shown


@command(
    "updateBrokerConfig",
    CommandOption("a", "updateAllBroker", "with -c: true to include slaves", values=TRUTH),
    *targets.either(),
    CommandOption("k", "key", "name of the setting", required=True),
    CommandOption("v", "value", "new value", required=True),
    text=each("update broker config success, {broker}\n"),
)
def update_settings(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateBrokerConfigSubCommand`; there any value of `-a` is true, here `false` is not."""
    key, value = call.given.need("k"), call.given.need("v")
    chosen = targets.all_brokers if call.given.truth("a") else targets.masters
    for address in chosen(call):
        with call.servers.part(address):
            note = call.servers.change(broker.update_settings({key: value}), address)
            if note:
                call.remark(f"{address}: {note}")
            yield {"broker": address, "key": key, "value": value}


def _settings_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown("{title}\n", row)
        for name, value in sorted(row["settings"].items()):
            yield shown("{name:<50}=  {value}\n", {"name": name, "value": value})
        yield "\n"


@command("getBrokerConfig", *targets.one_of(), text=_settings_text)
def settings(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetBrokerConfigCommand`."""
    for address, title in targets.titled(call):
        with call.servers.part(address):
            found = call.servers.ask(broker.settings(), address)
            yield {"broker": address, "title": title, "settings": found}


def _status_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    is_broker = "b" in call.given
    for row in rows:
        for name, value in sorted(row["figures"].items()):
            line = shown("{name:<32}: {value}\n", {"name": name, "value": value})
            yield line if is_broker else shown("{broker:<24} ", row) + line


@command("brokerStatus", *targets.one_of(), text=_status_text)
def status(call: CommandCall) -> Iterator[Row]:
    """Standard: `BrokerStatusSubCommand`."""
    for address in targets.all_brokers(call):
        with call.servers.part(address):
            yield {"broker": address, "figures": call.servers.ask(broker.figures(), address)}


def _success(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    done = sum(1 for _ in rows)
    if not call.servers.errors:
        yield "success\n" if done else "false\n"


def _of_all(call: CommandCall, question: Callable[[], Question[None]]) -> Iterator[Row]:
    """Ask the broker of `-b`, the masters of `-c`, or those of all clusters."""
    if "b" in call.given or "c" in call.given:
        addresses = targets.masters(call)
    else:
        known = call.servers.clusters().broker_addr_table
        addresses = [data.broker_addrs[0] for _, data in sorted(known.items()) if 0 in data.broker_addrs]
    for address in addresses:
        with call.servers.part(address):
            call.servers.change(question(), address)
            yield {"broker": address}


@command(
    "cleanExpiredCQ",
    *targets.either("cluster"),
    text=_success,
)
def clean_queues(call: CommandCall) -> Iterator[Row]:
    """Standard: `CleanExpiredCQSubCommand`."""
    return _of_all(call, broker.clean_queues)


@command(
    "deleteExpiredCommitLog",
    *targets.either("cluster"),
    text=_success,
)
def delete_log(call: CommandCall) -> Iterator[Row]:
    """Standard: `DeleteExpiredCommitLogSubCommand`."""
    return _of_all(call, broker.delete_expired_log)


@command("cleanUnusedTopic", *targets.either("cluster"), text=_success)
def clean_topics(call: CommandCall) -> Iterator[Row]:
    """Standard: `CleanUnusedTopicCommand`."""
    return _of_all(call, broker.clean_unused_topics)


@command(
    "resetMasterFlushOffset",
    CommandOption("b", "brokerAddr", "slave as host:port", values=NameKind.ADDRESS),
    CommandOption("o", "offset", "offset in the commit log"),
    text=each("reset master flush offset to {offset} success\n"),
)
def reset_flush_offset(call: CommandCall) -> Iterator[Row]:
    """Standard: `ResetMasterFlushOffsetSubCommand`."""
    call.given.need("o")
    address, offset = call.given.need("b"), call.given.number("o", 0)
    call.servers.change(replicas.set_flushed(offset), address)
    yield {"broker": address, "offset": offset}


_ENGINES = {"F": "FILE_TIME_WHEEL", "R": "ROCKSDB_TIMELINE"}


@command(
    "switchTimerEngine",
    *targets.one_of(),
    CommandOption(
        "e", "engineType", "timer engine: F for files, R for RocksDB", required=True, values=("F", "R")
    ),
    text=each("switchTimerEngine to {engine} success, {broker}\n"),
)
def switch_timers(call: CommandCall) -> Iterator[Row]:
    """Standard: `SwitchTimerEngineSubCommand`."""
    engine = call.given.need("e")
    if engine not in _ENGINES:
        raise UsageError(f"-e must be F or R, not {engine!r}")
    for address in targets.masters(call):
        with call.servers.part(address):
            call.servers.change(broker.switch_timers(engine), address)
            yield {"broker": address, "engine": _ENGINES[engine]}
