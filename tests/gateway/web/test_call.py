from mqgateway.engine.message import format_host
from mqgateway.gateway.web.call import Caller, WebCall
from mqgateway.gateway.web.route import Role


def test_values_are_read_from_path_query_and_body() -> None:
    call = WebCall(
        Caller("a", Role.ADMIN, "::1"), 5, path={"topic": "P"}, query={"x": 1}, body={"group": "B"}
    )
    assert [call.named(name) for name in ("topic", "x", "group", "other")] == ["P", "1", "B", ""]


def test_a_caller_sends_from_its_address() -> None:
    for address, shown in (("10.0.0.9", "10.0.0.9:0"), ("::1", "[::1]:0")):
        connection = WebCall(Caller("", Role.ADMIN, address), 5).connection
        assert connection.is_open
        assert format_host(connection.host_bytes).strip("[]").replace("]", "") in shown.replace(
            "[", ""
        ).replace("]", "")
