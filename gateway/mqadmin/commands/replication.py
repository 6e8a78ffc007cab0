"""Replication state of brokers. RocketMQ: `HAStatusSubCommand`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, Row, command
from mqgateway.gateway.mqadmin.rendering import moment, shown

_SLAVE = "{addr:<32}  {slaveAckOffset:<16} {diff:>16} {speed:>16.2f} {status:>16} {transferFromWhere:>16}\n"


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        if not row["master"]:
            yield from _slave_text(row["haClientRuntimeInfo"])
            continue
        yield (
            shown("\n#MasterAddr\t{broker}\n#MasterCommitLogMaxOffset\t{masterCommitLogMaxOffset}", row)
            + f"\n#SlaveNum\t{len(row['haConnectionInfo'])}\n#InSyncSlaveNum\t{row['inSyncSlaveNums']}\n"
        )
        yield (
            f"{'#SlaveAddr':<32}  {'#SlaveAckOffset':<16} {'#Diff':>16} {'#TransferSpeed(KB/s)':>16} "
            f"{'#Status':>16} {'#TransferFromWhere':>16}\n"
        )
        for one in row["haConnectionInfo"]:
            speed = one["transferredByteInSecond"] / 1024
            yield shown(_SLAVE, {**one, "speed": speed, "status": "OK" if one["inSync"] else "Fall Behind"})


def _slave_text(row: Row) -> Iterator[str]:
    fields = {
        **row,
        "speed": row["transferredByteInSecond"] / 1024,
        "read": moment(row["lastReadTimestamp"]),
        "written": moment(row["lastWriteTimestamp"]),
    }
    yield shown(
        "\n#MasterAddr\t{masterAddr}\n#CommitLogMaxOffset\t{maxOffset}\n#TransferSpeed(KB/s)\t{speed:.2f}\n"
        "#LastReadTime\t{read}\n#LastWriteTime\t{written}\n#MasterFlushOffset\t{masterFlushOffset}\n",
        fields,
    )


@command(
    "haStatus",
    *targets.either(),
    CommandOption("i", "interval", "repeat at this interval in seconds, like --watch"),
    text=_text,
)
def status(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `HAStatusSubCommand`. Speeds are bytes a second."""
    for broker in targets.masters(call):
        with call.servers.part(broker):
            yield {"broker": broker, **call.servers.ask(replicas.replication(), broker).to_json()}
