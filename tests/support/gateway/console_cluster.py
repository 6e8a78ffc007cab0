"""A console at `broker-a` of a cluster with `broker-b`, in memory too, and one that does not answer."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.gateway.codec.bodies import BrokerData
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import RemotingError
from tests.support.gateway.broker.helpers import MemoryBroker
from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld

OTHER, LOST, ELSEWHERE = "10.0.0.2:10911", "10.0.0.3:10911", "10.0.0.4:10911"


class ClusterWorld(ConsoleWorld):
    """`other` answers as `broker-b`, `broker-c` never does; `asked` has the codes of requests to `broker-b`.

    `elsewhere` is a broker of another cluster. With `lost=False` there is no `broker-c`.
    """

    def __init__(self, *, lost: bool = True) -> None:
        super().__init__()
        self.other = MemoryBroker(options={"broker_name": "broker-b"})
        self.asked: list[int] = []
        directory = self.broker.cluster.broker_directory
        cluster, own = self.memory.options.broker_cluster_name, self.console.operations.address
        groups = [
            BrokerData(cluster, "broker-a", {0: own}),
            BrokerData(cluster, "broker-b", {0: OTHER, 1: ELSEWHERE}),
            BrokerData("another", "elsewhere", {0: ELSEWHERE}),
        ]
        if lost:
            groups.append(BrokerData(cluster, "broker-c", {0: LOST}))

        def ask(address: str, command: RemotingCommand, _: float) -> Deferred[RemotingCommand]:
            if address != OTHER:
                return fail(RemotingError(f"no connection to {address}"))
            self.asked.append(command.code)
            answer = self.other.ask(command.code, ext=dict(command.ext_fields))
            return succeed(answer.arrived)

        directory._ask = ask
        directory.groups = lambda: succeed(groups)  # type: ignore[method-assign]


def cluster_console(*, lost: bool = True) -> ConsoleBrowser:
    """Return a browser that is logged in at the console of `broker-a`."""
    return ConsoleBrowser(ClusterWorld(lost=lost)).log_in()
