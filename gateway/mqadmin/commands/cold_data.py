"""Commands about reads of old data. Standard: the `ColdDataFlowCtr` commands of the module `tools`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.declaration import (
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)
from mqgateway.gateway.mqadmin.rendering import each, pretty, second, shown

_GROUP = CommandOption("g", "consumerGroup", "consumer group", required=True, values=NameKind.GROUP)
_MOMENTS = (("lastColdReadTimeMills", "lastColdReadTimeFormat"), ("createTimeMills", "createTimeFormat"))


def _info_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        info = dict(row["info"])
        table = {}
        for group, one in info.get("runtimeTable", {}).items():
            fields = dict(one)
            for millis, shown_as in _MOMENTS:
                fields[shown_as] = second(int(fields.pop(millis, 0)))
            table[group] = fields
        info["runtimeTable"] = table
        yield shown(" {title}\n", row) + pretty(info) + "\n"


@command("getColdDataFlowCtrInfo", *targets.either(), text=_info_text)
def info(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetColdDataFlowCtrInfoSubCommand`."""
    for address, title in targets.titled(call):
        with call.servers.part(address):
            found = call.servers.ask(broker.cold_reads(), address)
            yield {"broker": address, "title": title, "info": found}


@command(
    "updateColdDataFlowCtrGroupConfig",
    *targets.either(),
    _GROUP,
    CommandOption("v", "threshold", "bytes in 5 s", required=True),
    text=each("updateColdDataFlowCtrGroupConfig success, {broker}\n"),
)
def limit(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateColdDataFlowCtrGroupConfigSubCommand`."""
    group, threshold = call.given.need("g"), call.given.number("v", 0)
    for address in targets.masters(call):
        with call.servers.part(address):
            call.servers.change(broker.limit_cold_reads({group: threshold}), address)
            yield {"broker": address, "group": group, "threshold": threshold}


@command(
    "removeColdDataFlowCtrGroupConfig",
    *targets.either(),
    _GROUP,
    text=each("remove broker cold read threshold success, {broker}\n"),
)
def unlimit(call: CommandCall) -> Iterator[Row]:
    """Standard: `RemoveColdDataFlowCtrGroupConfigSubCommand`."""
    for address in targets.masters(call):
        with call.servers.part(address):
            call.servers.change(broker.unlimit_cold_reads(call.given.need("g")), address)
            yield {"broker": address, "group": call.given.need("g")}


@command(
    "setCommitLogReadAheadMode",
    *targets.either(),
    CommandOption(
        "m",
        "commitLogReadAheadMode",
        "0 to enable read-ahead, 1 to disable it",
        required=True,
        values=("0", "1"),
    ),
    text=each(" {title}\ncommitLog set readAhead mode rstStr{answer}\n"),
)
def set_read_mode(call: CommandCall) -> Iterator[Row]:
    """Standard: `CommitLogSetReadAheadSubCommand`."""
    mode = call.given.need("m")
    if mode not in ("0", "1"):
        raise UsageError("set the read mode error; 0 is default, 1 random read")
    for address, title in targets.titled(call):
        with call.servers.part(address):
            answer = call.servers.change(broker.set_read_mode(int(mode)), address)
            yield {"broker": address, "title": title, "mode": int(mode), "answer": answer}
