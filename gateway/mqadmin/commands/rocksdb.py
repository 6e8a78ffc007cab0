"""Commands about tables and queues that brokers keep in RocksDB.

A broker that has some is asked. Files of RocksDB are not read here (decision 30).
Standard: `RocksDBConfigToJsonCommand`, `CheckRocksdbCqWriteProgressCommand`,
`ExportMetadataInRocksDBCommand`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)
from mqgateway.gateway.mqadmin.rendering import nothing, shown
from mqgateway.gateway.mqadmin.servers import master_of

TABLES = ("topics", "subscriptionGroups", "consumerOffsets")
_CHECK_FAILED = 3
"""Standard: `CheckRocksdbCqWriteResult.CheckStatus`."""
_MONTH_MILLIS = 30 * 24 * 3_600_000
_SECONDS = 30.0
_NAME_SERVERS = "name servers as host:port, separated by ';'"
_NO_FILES = "RocksDB files are not supported here: have their broker export them as JSON with"


def _checks_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        if row["checkStatus"] == _CHECK_FAILED:
            yield shown("{brokerName} check error, please check log... errInfo: {checkResult}\n", row)
        else:
            yield shown("{brokerName} check doing, please wait and get the result from log... \n", row)


@command(
    "checkRocksdbCqWriteProgress",
    CommandOption("c", "cluster", "all brokers of this cluster", required=True, values=NameKind.CLUSTER),
    CommandOption("cf", "checkFrom", "start time in ms since the epoch (default: 30 days ago)"),
    CommandOption("n", "nameserverAddr", _NAME_SERVERS, required=True),
    CommandOption("t", "topic", "limit the output to this topic", values=NameKind.TOPIC),
    text=_checks_text,
)
def check_queues(call: CommandCall) -> Iterator[Row]:
    """Standard: `CheckRocksdbCqWriteProgressCommand`, which asks all clusters."""
    since = call.given.number("cf", call.now() - _MONTH_MILLIS)
    question = broker.check_rocksdb_queues(call.given.text("t") or "", since)
    for one in call.servers.members(call.given.need("c")):
        with call.servers.part(one.broker_name):
            found = call.servers.ask(question, master_of(one), _SECONDS)
            yield {"brokerName": one.broker_name, **found}


def _exports_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    whom = "broker" if "c" not in call.given else "all brokers in cluster"
    yield f"Use [rpc mode] call {whom} to export to json file \n"
    for _ in rows:
        yield ""
    if not call.servers.errors:
        yield "broker export done."


@command(
    "rocksDBConfigToJson",
    CommandOption("b", "brokerAddr", "broker as host:port", values=NameKind.ADDRESS),
    CommandOption("c", "cluster", "all brokers of this cluster", values=NameKind.CLUSTER),
    CommandOption("e", "exportFile", "with -p: file to write", values=NameKind.FILE),
    CommandOption("j", "jsonEnable", "with -p: false to print one line for each entry", values=TRUTH),
    CommandOption("n", "nameserverAddr", f"with -c: {_NAME_SERVERS}"),
    CommandOption("p", "configPath", "RocksDB folder on this machine", values=NameKind.FILE),
    CommandOption("t", "configType", "table (default: all)", values=TABLES),
    text=_exports_text,
)
def export_tables(call: CommandCall) -> Iterator[Row]:
    """Standard: `RocksDBConfigToJsonCommand`."""
    given = call.given
    wanted = given.text("t")
    if wanted is not None and wanted.lower() not in map(str.lower, TABLES):
        raise UsageError(f"Invalid configType: {wanted} please input {'/'.join(TABLES)}")
    question = broker.export_rocksdb_tables([wanted] if wanted else TABLES)
    if (cluster := given.text("c")) is not None:
        where = [(one.broker_name, master_of(one)) for one in call.servers.members(cluster)]
    elif (address := given.text("b")) is not None:
        where = [(address, address)]
    elif "p" in given:
        raise ClientError(f"{_NO_FILES} -b or -c")
    else:
        raise UsageError("one of -b, -c and -p is needed")
    for name, address in where:
        with call.servers.part(name):
            call.servers.change(question, address, _SECONDS)
            yield {"broker": name}


@command(
    "exportMetadataInRocksDB",
    CommandOption("j", "jsonEnable", "true to print JSON instead of one line for each entry", values=TRUTH),
    CommandOption("p", "path", "folder", required=True, values=NameKind.FILE),
    CommandOption("t", "configType", "type of entries", required=True, values=TABLES[:2]),
    text=nothing,
)
def show_tables(call: CommandCall) -> Iterator[Row]:
    """Standard: `ExportMetadataInRocksDBCommand`."""
    path = call.given.need("p")
    if not Path(path).exists():
        raise UsageError(f"RocksDB path is invalid: {path}")
    raise ClientError(f"{_NO_FILES} rocksDBConfigToJson -b")
    yield  # what makes this, as every command, a generator of rows
