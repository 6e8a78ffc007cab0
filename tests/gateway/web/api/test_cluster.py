from types import SimpleNamespace

from twisted.internet.defer import succeed

from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.codec.bodies import BrokerData
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.console import console


def test_cluster_shows_the_broker() -> None:
    answer = console().get("/cluster")
    assert (answer["broker"], answer["role"], answer["brokerId"]) == ("broker-a", "master", 0)
    assert answer["brokers"] is None and answer["nameServers"] == []
    assert answer["runtime"]["commitLogMaxOffset"] == "0"


def test_cluster_shows_the_brokers_that_a_name_server_elsewhere_knows() -> None:
    browser = console()
    cluster = browser.world.memory.broker.cluster
    cluster.registration._registrars["n:9876"] = SimpleNamespace(is_there=True)
    groups = [BrokerData("C", "n-1", {0: "h:10921"}), BrokerData("C", "n-0", {0: "h:10911"})]
    cluster.broker_directory.groups = lambda: succeed(groups)  # type: ignore[method-assign]
    assert browser.get("/cluster")["brokers"] == [
        {"broker": "n-0", "cluster": "C", "brokerId": 0, "address": "h:10911", "heardBefore": None},
        {"broker": "n-1", "cluster": "C", "brokerId": 0, "address": "h:10921", "heardBefore": None},
    ]


def test_a_page_of_clients() -> None:
    browser = console()
    memory = browser.world.memory
    memory.subscribe("G", "T")
    for number in range(5):
        peer = FakePeer(f"10.0.1.{number}:5000")
        memory.broker.clients.register_producer("P", GroupClient(peer, f"c{number}", "GO", 500))
    page = browser.get("/clients?limit=4")
    assert page["total"] == 6 and len(page["rows"]) == 4
    rest = browser.get(f"/clients?limit=4&cursor={page['cursor']}")["rows"]
    assert {row["kind"] for row in page["rows"] + rest} == {"producer", "consumer"}
    [row] = browser.get("/clients?search=c3")["rows"]
    assert (row["group"], row["address"], row["language"]) == ("P", "10.0.1.3:5000", "GO")
