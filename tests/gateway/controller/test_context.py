"""What request functions see is what the service is made of."""

from tests.support.gateway.controller.world import ControllerWorld


def test_requests_see_the_controller_of_the_service() -> None:
    world = ControllerWorld()
    context = world.service.dispatcher._context
    assert context.controller is world.service.controller
    assert (context.group, [peer.peer_id for peer in context.peers]) == ("g1", ["n0"])
