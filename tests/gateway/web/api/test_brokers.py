"""All brokers of the cluster, asked by administration requests."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.gateway.codec.bodies import BrokerData, KVTable
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import RemotingError
from tests.support.gateway.console import ConsoleBrowser, console

SLAVE, OTHER, LOST = "h:10921", "h:10911", "h:10931"
FIGURES = {
    "brokerVersionDesc": "V5_5_0",
    "putTps": "12.5 10 9",
    "getTransferredTps": "3 2 1",
    "msgPutTotalTodayNow": "70",
    "msgPutTotalTodayMorning": "20",
    "commitLogMaxOffset": "1000",
    "commitLogMinOffset": "200",
    "commitLogDiskRatio": "0.25",
}


@pytest.fixture
def browser() -> ConsoleBrowser:
    """At a broker of a cluster with a master, its slave, and one that does not answer."""
    made = console()
    directory = made.world.broker.cluster.broker_directory
    own = made.world.console.operations.address
    groups = [
        BrokerData("C", "a", {0: own}),
        BrokerData("C", "b", {0: OTHER, 1: SLAVE}),
        BrokerData("C", "c", {0: LOST}),
    ]

    def ask(address: str, command: RemotingCommand, _: float) -> Deferred[RemotingCommand]:
        if address == LOST:
            return fail(RemotingError("no connection"))
        if command.code == RequestCode.GET_BROKER_CONFIG:
            return succeed(RemotingCommand(ResponseCode.SUCCESS, body=b"brokerName=b\nofTheirs=1\n"))
        end = {} if address == OTHER else {"commitLogMaxOffset": "900"}
        return succeed(RemotingCommand(ResponseCode.SUCCESS, body=KVTable({**FIGURES, **end}).encode()))

    directory._ask = ask
    directory.groups = lambda: succeed(groups)  # type: ignore[method-assign]
    return made


def test_brokers_are_listed_with_figures_and_errors(browser: ConsoleBrowser) -> None:
    rows = {(row["broker"], row["brokerId"]): row for row in browser.get("/cluster/brokers")["rows"]}
    assert list(rows) == [("a", 0), ("b", 0), ("b", 1), ("c", 0)]
    assert rows["a", 0]["isOwn"] and rows["a", 0]["behind"] is None
    master, slave = rows["b", 0], rows["b", 1]
    assert (master["version"], master["in"], master["out"], master["inToday"]) == ("V5_5_0", 12.5, 3.0, 50)
    assert (master["logBytes"], master["diskUsed"], slave["behind"]) == (800, 0.25, 100)
    assert rows["c", 0]["error"] == "the broker does not answer: no connection"


def test_figures_that_are_no_numbers_are_shown_as_zero(browser: ConsoleBrowser) -> None:
    figures = {"putTps": "nan", "getTransferredTps": "1e999", "commitLogMaxOffset": "--5"}
    figures |= {"msgPutTotalTodayNow": "9" * 5000, "commitLogDiskRatio": "much"}
    answer = RemotingCommand(ResponseCode.SUCCESS, body=KVTable(figures).encode())
    browser.world.broker.cluster.broker_directory._ask = lambda *_: succeed(answer)
    rows = {(row["broker"], row["brokerId"]): row for row in browser.get("/cluster/brokers")["rows"]}
    row = rows["b", 0]
    assert (row["in"], row["out"], row["inToday"], row["logEnd"], row["diskUsed"]) == (0, 0, 0, 0, 0)


def test_only_listed_brokers_are_asked(browser: ConsoleBrowser) -> None:
    assert browser.get(f"/cluster/statistics?address={OTHER}")["runtime"]["putTps"] == "12.5 10 9"
    assert browser.refused("GET", f"/cluster/statistics?address={LOST}")[0] == 502
    assert browser.refused("GET", "/cluster/statistics?address=elsewhere:1")[0] == 404


def test_settings_are_compared(browser: ConsoleBrowser) -> None:
    found = browser.get(f"/cluster/settings?address={OTHER}")
    rows = {row["name"]: (row["here"], row["there"]) for row in found["rows"]}
    assert rows["brokerName"] == ("broker-a", "b")
    assert rows["ofTheirs"] == (None, "1")
    assert rows["listenPort"][1] is None
    assert browser.refused("GET", f"/cluster/settings?address={LOST}")[0] == 502


def test_broker_without_name_servers_is_listed_alone() -> None:
    [row] = console().get("/cluster/brokers")["rows"]
    assert row["isOwn"] and row["error"] == "" and row["version"].startswith("V5")
