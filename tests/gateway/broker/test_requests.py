from mqgateway.gateway.access import needs, requests
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.broker.requests import NOT_ON_FAST_PORT, OF_ROOMS, REQUESTS, UNSUPPORTED
from mqgateway.gateway.codec.codes import RequestCode


def test_requests_that_may_wait_are_served_on_the_main_port() -> None:
    assert set(REQUESTS) >= NOT_ON_FAST_PORT
    assert RequestCode.SEND_MESSAGE_V2 not in NOT_ON_FAST_PORT


def test_refused_codes_are_not_served() -> None:
    assert set(UNSUPPORTED) <= set(RequestCode)
    assert not set(UNSUPPORTED) & set(REQUESTS)


def test_every_request_about_users_is_served_whatever_the_role() -> None:
    assert needs.USERS.keys() == requests.REQUESTS.keys()
    declared = [OF_ROOMS[code] for code in needs.USERS]
    assert all(isinstance(one, RequestDeclaration) and one.needs is Needs.NOTHING for one in declared)
