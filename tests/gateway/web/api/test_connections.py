from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.codec.bodies.heartbeat import HeartbeatData, ProducerData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.console import PORT, ConsoleBrowser, console
from tests.support.gateway.remoting.pair import Talker


def connect(browser: ConsoleBrowser, number: int, group: str = "") -> Talker:
    """A client on a connection, in a producer group if one is named."""
    net, talker = browser.world.net, Talker()
    net.meet(PORT, talker, ("192.168.1.1", number))
    if group:
        data = HeartbeatData(client_id=f"c{number}", producer_data_set=[ProducerData(group)])
        command = RemotingCommand.request(RequestCode.HEART_BEAT, body=data.encode())
        talker.transport.write(encode_command(command))
    net.settle()
    return talker


def test_every_connection_with_who_it_is() -> None:
    browser = console()
    connect(browser, 1, "P")
    connect(browser, 2)
    first, second = browser.get("/connections")["rows"]
    assert (first["address"], first["port"], first["isSecure"]) == ("192.168.1.1:1", PORT, False)
    assert (first["clients"], first["groups"]) == (["c1"], [{"kind": "producer", "group": "P"}])
    assert first["lastRequest"] == "HEART_BEAT" and first["languages"] == ["PYTHON V5_5_0"]
    assert (second["clients"], second["lastRequest"]) == ([], "")
    assert browser.get("/connections?search=c1")["total"] == 1
    assert [row["id"] for row in browser.get("/connections?sort=age&limit=1")["rows"]] == [first["id"]]


def test_grpc_client_is_identified_by_its_address() -> None:
    browser = console()
    connect(browser, 7)
    session = FakePeer("192.168.1.1:7")
    browser.world.broker.clients.register_producer("P", GroupClient(session, "grpc-client", "GO", 500))
    assert browser.get("/connections")["rows"][0]["clients"] == ["grpc-client"]


def test_a_connection_is_closed_and_the_audit_says_whose_it_was() -> None:
    browser = console()
    talker, other = connect(browser, 1, "P"), connect(browser, 2)
    [row] = browser.get("/connections?search=c1")["rows"]
    assert browser.do("DELETE", f"/connections/{row['id']}") == {"id": row["id"]}
    browser.world.net.settle()
    assert talker.lost is not None and other.lost is None
    [entry] = browser.get("/audit")["rows"]
    assert entry["action"] == "DELETE /connections/{connection}" and entry["before"]["clients"] == ["c1"]
    for gone in (row["id"], "x"):
        assert browser.refused("DELETE", f"/connections/{gone}")[0] == 404
