"""Commands that show clusters. RocketMQ: the package `command.cluster` of the module `tools`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command, flag
from mqgateway.gateway.mqadmin.rendering import headed, shown

_TITLES = (
    "#Cluster Name",
    "#Broker Name",
    "#BID",
    "#Addr",
    "#Version",
    "#InTPS(LOAD)",
    "#OutTPS(LOAD)",
    "#Timer(Progress)",
    "#PCWait(ms)",
    "#Hour",
    "#SPACE",
    "#ACTIVATED",
)
_WIDTHS = "{:<22}  {:<22}  {:<4}  {:<22} {:<16}  {:>16}  {:>30}  {:<22}  {:<11}  {:<12}  {:<8}  {:<10}\n"
_ROW = (
    "{cluster:<22}  {brokerName:<22}  {brokerId:<4}  {address:<22} {version:<16}  {in:>16}  {out:>30}  "
    "{timer:<22}  {pageCacheLockTimeMills:>11}  {hours:<12.2f}  {space:<8.4f}  {isActive:>10}\n"
)

_totals = headed(
    ("#Cluster Name", "#Broker Name", "#InTotalYest", "#OutTotalYest", "#InTotalToday", "#OutTotalToday"),
    "{:<16}  {:<32} {:>14} {:>14} {:>14} {:>14}\n",
    "{cluster:<16}  {brokerName:<32} {inTotalYest:>14} {outTotalYest:>14} {inTotalToday:>14} "
    "{outTotalToday:>14}\n",
)


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    if "m" in call.given:
        yield from _totals(call, rows)
        return
    yield _WIDTHS.format(*_TITLES)
    for row in rows:
        fields = dict(row)
        fields["in"] = shown("{putTps:9.2f}({sendQueueSize},{sendQueueWait}ms)", row)
        fields["out"] = shown(
            "{getTps:9.2f}({pullQueueSize},{pullQueueWait}ms|{ackQueueSize},{ackQueueWait}ms)", row
        )
        fields["timer"] = shown(
            "{timerReadBehind}-{timerOffsetBehind}({congested:.1f}w, {timerEnqueueTps:.1f}, "
            "{timerDequeueTps:.1f})",
            {**row, "congested": row["timerCongestNum"] / 10000},
        )
        yield shown(_ROW, fields)


@command(
    "clusterList",
    CommandOption("c", "clusterName", "all brokers of this cluster", values=NameKind.CLUSTER),
    CommandOption("i", "interval", "repeat at this interval in seconds, like --watch"),
    flag("m", "moreStats", "print the numbers of messages in and out, yesterday and today"),
    text=_text,
)
def brokers(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ClusterListSubCommand`."""
    info = call.servers.clusters()
    wanted = call.given.text("c")
    if wanted is not None and wanted not in info.cluster_addr_table:
        raise NoBroker(f"there is no cluster {wanted}")
    for cluster in sorted(info.cluster_addr_table) if wanted is None else [wanted]:
        for name in sorted(info.cluster_addr_table.get(cluster, ())):
            data = info.broker_addr_table.get(name)
            for number, address in sorted(data.broker_addrs.items()) if data else ():
                figures: dict[str, str] = {}
                with call.servers.part(address):
                    figures = call.servers.ask(broker.figures(), address)
                result = _totals_of(figures) if "m" in call.given else _load_of(figures, call.now())
                who = {"cluster": cluster, "brokerName": name, "brokerId": number, "address": address}
                yield who | result


def _totals_of(figures: Mapping[str, str]) -> dict[str, object]:
    """Return the numbers of messages in and out, yesterday and today."""

    def grown(kind: str, until: str, since: str) -> int:
        return _int(figures, f"msg{kind}Total{until}") - _int(figures, f"msg{kind}Total{since}")

    return {
        "inTotalYest": grown("Put", "TodayMorning", "YesterdayMorning"),
        "outTotalYest": grown("Get", "TodayMorning", "YesterdayMorning"),
        "inTotalToday": grown("Put", "TodayNow", "TodayMorning"),
        "outTotalToday": grown("Get", "TodayNow", "TodayMorning"),
    }


def _load_of(figures: Mapping[str, str], now: int) -> dict[str, object]:
    """Return the load of a broker. Rates are messages a second over the last ten seconds, waits are ms.

    `hours` is the age of the oldest message, `space` the used part of the disk.
    """
    oldest = _int(figures, "earliestMessageTimeStamp")
    return {
        "version": figures.get("brokerVersionDesc", ""),
        "putTps": _float(figures, "putTps"),
        "sendQueueSize": figures.get("sendThreadPoolQueueSize", ""),
        "sendQueueWait": figures.get("sendThreadPoolQueueHeadWaitTimeMills", ""),
        "getTps": _float(figures, "getTransferredTps"),
        "pullQueueSize": figures.get("pullThreadPoolQueueSize", ""),
        "pullQueueWait": figures.get("pullThreadPoolQueueHeadWaitTimeMills", ""),
        "ackQueueSize": figures.get("ackThreadPoolQueueSize", "N"),
        "ackQueueWait": figures.get("ackThreadPoolQueueHeadWaitTimeMills", "N"),
        "timerReadBehind": _int(figures, "timerReadBehind"),
        "timerOffsetBehind": _int(figures, "timerOffsetBehind"),
        "timerCongestNum": _int(figures, "timerCongestNum"),
        "timerEnqueueTps": _float(figures, "timerEnqueueTps"),
        "timerDequeueTps": _float(figures, "timerDequeueTps"),
        "pageCacheLockTimeMills": figures.get("pageCacheLockTimeMills", ""),
        "hours": (now - oldest) / 3_600_000 if "earliestMessageTimeStamp" in figures else 0.0,
        "space": _float(figures, "commitLogDiskRatio"),
        "isActive": figures.get("brokerActive", "false") == "true",
    }


def _int(figures: Mapping[str, str], name: str) -> int:
    text = figures.get(name, "")
    return int(text) if text.lstrip("-").isdecimal() else 0


def _float(figures: Mapping[str, str], name: str) -> float:
    """Return the first number of a figure: rates have one for each of several time spans."""
    try:
        return float(figures.get(name, "").split(" ")[0])
    except ValueError:
        return 0.0
