"""A member of a share group."""

from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.share_groups.member import ShareMember


def test_null_fields_of_a_heartbeat_change_nothing() -> None:
    member = ShareMember("a", RequestSender("c", "/h"), rack_id="r", topics=("orders",))
    member.move(3, 2, {(b"t" * 16, 0)})
    again = member.changed(RequestSender("d", "/h"), None, None)
    assert (again.rack_id, again.topics, again.client.id) == ("r", ("orders",), "d")
    assert (again.epoch, again.previous_epoch, again.assigned) == (3, 2, {(b"t" * 16, 0)})
    other = again.changed(again.client, "s", ())
    assert (other.metadata, other.size) == ((again.client, "s", ()), 2)
