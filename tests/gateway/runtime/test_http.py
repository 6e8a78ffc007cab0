from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.web.resource import Resource

from mqgateway.gateway.runtime.http import MAX_CONNECTIONS, LimitedSite
from tests.support.gateway.web import Browser


def test_connections_are_limited() -> None:
    site = LimitedSite(Resource())
    browsers = [Browser(site) for _ in range(MAX_CONNECTIONS)]
    assert Browser(site).protocol is None
    browsers[0].protocol.connectionLost(Failure(ConnectionDone()))
    assert Browser(site).protocol is not None
