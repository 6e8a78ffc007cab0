"""Controllers of the cluster, from the settings."""

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.gateway.controller.peers import ControllerPeer, own_peer, peers_of, shown


def test_peers_are_parsed_and_formatted_as_by_rocketmq() -> None:
    peers = peers_of("n0-127.0.0.1:9877;n1-host-b:9878; n2-::1:9879;")
    assert peers == [
        ControllerPeer("n0", "127.0.0.1", 9877),
        ControllerPeer("n1", "host-b", 9878),
        ControllerPeer("n2", "::1", 9879),
    ]
    assert shown(peers[:2]) == "n0:127.0.0.1:9877;n1:host-b:9878;"


@pytest.mark.parametrize("text", ["n0", "n0-host", "-host:1", "n0-:1", "n0-h:0", "n0-h:65536", "n0-h:x"])
def test_invalid_controller_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="n0-10"):
        peers_of(text)


def test_duplicate_id_is_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        peers_of("n0-a:1;n0-b:2")


def own(peers: str, self_id: str = "") -> ControllerPeer:
    return own_peer(ControllerOptions(controller_d_leger_peers=peers, controller_d_leger_self_id=self_id))


def test_own_peer_is_found() -> None:
    assert own("n0-a:1", "n0") == own("n0-a:1") == ControllerPeer("n0", "a", 1)
    assert own("n0-a:1").leader == ("n0", "a:1")


def test_several_controllers_require_store_and_own_id() -> None:
    options = ControllerOptions(
        controller_d_leger_peers="n0-a:1;n1-b:2", controller_etcd_endpoints="http://e:2379"
    )
    with pytest.raises(ConfigError, match="no such id"):
        own_peer(options)
    options.controller_d_leger_self_id = "n1"
    assert own_peer(options) == ControllerPeer("n1", "b", 2)


@pytest.mark.parametrize(
    ("peers", "self_id", "why"),
    [
        ("", "n0", "name this controller's address"),
        ("n0-a:1", "n1", "no such id"),
        ("n0-a:1;n1-b:2", "n0", "controllerEtcdEndpoints"),
    ],
)
def test_invalid_combination_is_refused(peers: str, self_id: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        own(peers, self_id)
