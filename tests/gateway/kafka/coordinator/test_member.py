"""A member: what it votes for, and when it needs no heartbeat."""

from mqgateway.gateway.kafka.codec.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from mqgateway.gateway.kafka.coordinator.member import Member, RequestSender, names_of, protocols_of, size_of

PROTOCOLS = (("range", b"r"), ("sticky", b"st"), ("range", b"again"))


def member() -> Member:
    """Return a member with three protocols, two of one name."""
    return Member(
        "m", None, RequestSender("c", "/h"), "consumer", PROTOCOLS, rebalance_timeout=2, session_timeout=1
    )


def test_member_votes_for_the_candidate_that_it_names_first() -> None:
    assert member().vote({"sticky", "range"}) == "range"
    assert member().vote({"sticky", "other"}) == "sticky"


def test_metadata_is_that_of_the_first_protocol_of_the_name() -> None:
    assert (member().metadata("range"), member().metadata("none")) == (b"r", b"")


def test_member_that_waits_needs_no_heartbeat_unless_it_is_new() -> None:
    one = member()
    assert not one.is_waiting
    one.join = lambda answer: None
    assert one.is_waiting
    one.is_new = True
    assert not one.is_waiting


def test_protocols_are_read_measured_and_named_once() -> None:
    sent = tuple(JoinGroupRequestProtocol(*protocol) for protocol in PROTOCOLS)
    assert protocols_of(JoinGroupRequest(protocols=sent)) == PROTOCOLS
    assert size_of(PROTOCOLS) == member().size == 24
    assert names_of(PROTOCOLS) == ("range", "sticky")
