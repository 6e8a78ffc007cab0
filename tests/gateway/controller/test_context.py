"""The context of request functions consists of the parts of the service."""

from tests.support.gateway.controller.world import ControllerWorld


def test_context_has_parts_of_service() -> None:
    world = ControllerWorld()
    context = world.service.dispatcher._context
    assert context.controller is world.service.controller
    assert (context.group, [peer.peer_id for peer in context.peers]) == ("g1", ["n0"])
