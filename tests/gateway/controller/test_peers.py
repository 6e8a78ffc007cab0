"""Who the controllers are, out of the settings."""

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.gateway.controller.peers import Peer, own_peer, peers_of, shown


def test_peers_are_read_and_shown_as_the_standard_does() -> None:
    peers = peers_of("n0-127.0.0.1:9877;n1-host-b:9878; n2-::1:9879;")
    assert peers == [Peer("n0", "127.0.0.1", 9877), Peer("n1", "host-b", 9878), Peer("n2", "::1", 9879)]
    assert shown(peers[:2]) == "n0:127.0.0.1:9877;n1:host-b:9878;"


@pytest.mark.parametrize("text", ["n0", "n0-host", "-host:1", "n0-:1", "n0-h:0", "n0-h:65536", "n0-h:x"])
def test_what_is_no_controller_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="n0-10"):
        peers_of(text)


def test_an_id_stands_once() -> None:
    with pytest.raises(ConfigError, match="twice"):
        peers_of("n0-a:1;n0-b:2")


def own(peers: str, self_id: str = "") -> Peer:
    return own_peer(ControllerOptions(controller_d_leger_peers=peers, controller_d_leger_self_id=self_id))


def test_the_own_place_is_found() -> None:
    assert own("n0-a:1", "n0") == own("n0-a:1") == Peer("n0", "a", 1)
    assert own("n0-a:1").leader == ("n0", "a:1")


def test_several_have_a_place_in_common_and_say_which_they_are() -> None:
    options = ControllerOptions(
        controller_d_leger_peers="n0-a:1;n1-b:2", controller_etcd_endpoints="http://e:2379"
    )
    with pytest.raises(ConfigError, match="no such id"):
        own_peer(options)
    options.controller_d_leger_self_id = "n1"
    assert own_peer(options) == Peer("n1", "b", 2)


@pytest.mark.parametrize(
    ("peers", "self_id", "why"),
    [
        ("", "n0", "name this controller's address"),
        ("n0-a:1", "n1", "no such id"),
        ("n0-a:1;n1-b:2", "n0", "controllerEtcdEndpoints"),
    ],
)
def test_what_cannot_be_is_refused(peers: str, self_id: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        own(peers, self_id)
