"""A connection of the remoting protocol is one that operations can be called with."""

from mqgateway.gateway.broker.connection import ClientConnection
from tests.support.gateway.broker.helpers import FakePeer


def test_a_peer_is_a_client_connection() -> None:
    connection: ClientConnection = FakePeer("10.0.0.1:4001")
    lost: list[object] = []
    connection.on_lost(lost.append)
    assert (connection.address, len(connection.host_bytes), connection.is_open) == ("10.0.0.1:4001", 8, True)
    assert not lost
