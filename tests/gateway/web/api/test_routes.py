from mqgateway.gateway.web.api.routes import ROUTES, routes
from mqgateway.gateway.web.route import KINDS, Role


def test_routes_are_declared_once_and_whole() -> None:
    named = [(route.method, route.path) for route in ROUTES]
    assert len(set(named)) == len(named)
    for route in ROUTES:
        assert route.summary.endswith(".") or route.summary.endswith("?")
        for field in (*route.query, *route.body):
            assert field.kind in KINDS and field.meaning.endswith(".")
        assert not (route.method == "GET" and route.body)
        if "delete" in route.function.__name__:
            assert route.role is Role.ADMIN


def test_a_read_only_console_has_those_that_only_show() -> None:
    shown = routes(read_only=True)
    assert {route.method for route in shown if route.role is not Role.NOBODY} == {"GET"}
    assert len(shown) < len(routes(read_only=False)) == len(ROUTES)
