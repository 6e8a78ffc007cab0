"""The protocol of master and slave; the tests of their connections check its use."""

from mqgateway.engine.ha.epoch_feed import EpochFeed
from mqgateway.engine.ha.epoch_follow import EpochFollow
from mqgateway.engine.ha.feed import Feed
from mqgateway.engine.ha.follow import Follow
from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.broker.replication.streams import EpochStream, PlainStream
from tests.support.gateway.broker.controlled import BrokerSet
from tests.support.gateway.broker.group import Group


def test_without_a_controller_the_stream_is_plain() -> None:
    broker = Group().master().service.broker
    stream = PlainStream(broker.store_options, broker.store)
    assert type(stream.feed("a:1", 0)) is Feed
    assert type(stream.follow(0, 0)) is Follow
    assert stream.is_open and not stream.compares


def test_under_a_controller_only_a_master_serves_slaves() -> None:
    brokers = BrokerSet()
    master = brokers.join(1)
    stream = master.service.group.replication._stream
    assert isinstance(stream, EpochStream)
    assert type(stream.feed("a:1", 0)) is EpochFeed
    assert type(stream.follow(0, 0)) is EpochFollow
    assert stream.is_open and stream.compares
    master.service.broker.role.become(RoleKind.FENCED)
    assert not stream.is_open
