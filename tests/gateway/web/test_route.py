import pytest

from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField, match, read_body, read_query

FIELDS = (
    RouteField("name", str, "A name."),
    RouteField("limit", int, "How many.", 10, least=1, most=50),
    RouteField("all", bool, "All?", False),
    RouteField("sort", str, "By what.", "a", choices=("a", "b")),
)


def route(method: str, path: str) -> Route:
    return Route(method, path, Role.VIEWER, "", lambda console, call: None)


ROUTES = [route("GET", "/a"), route("GET", "/a/{x}"), route("PUT", "/a/{x}"), route("GET", "/a/last")]


def test_paths_are_matched_with_their_names() -> None:
    found, named = match(ROUTES, "/a/b%2Fc%20d")
    assert (sorted(found), named) == (["GET", "PUT"], {"x": "b/c d"})
    assert match(ROUTES, "/b") == match(ROUTES, "/a/b/c") == ({}, {})


def test_a_word_comes_before_a_name() -> None:
    for routes in (ROUTES, ROUTES[::-1]):
        found, named = match(routes, "/a/last")
        assert (found["GET"].path, named) == ("/a/last", {})


def test_a_query_is_typed() -> None:
    assert read_query(FIELDS, {"name": "x", "limit": "5", "all": "true"}) == {
        "name": "x",
        "limit": 5,
        "all": True,
        "sort": "a",
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "name is missing: A name."),
        ({"name": "x", "limit": "many"}, "limit must be a whole number, not 'many'"),
        ({"name": "x", "limit": "0"}, "limit must be at least 1"),
        ({"name": "x", "limit": "51"}, "limit must be at most 50"),
        ({"name": "x", "all": "yes"}, "all must be true or false, not 'yes'"),
        ({"name": "x", "sort": "c"}, "sort must be one of a, b"),
        ({"name": "x", "nam": "y"}, "there is no parameter nam; there are all, limit, name, sort"),
    ],
)
def test_a_wrong_query_is_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(ApiError) as refusal:
        read_query(FIELDS, given)
    assert (refusal.value.status, refusal.value.message) == (400, says)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "the body must be an object of JSON"),
        ({"name": 5}, "name must be string"),
        ({"name": "x", "limit": True}, "limit must be integer"),
        ({"name": "x", "limit": "5"}, "limit must be integer"),
        ({"name": None}, "name is missing: A name."),
    ],
)
def test_a_wrong_body_is_refused(given: object, says: str) -> None:
    with pytest.raises(ApiError) as refusal:
        read_body(FIELDS, given)
    assert refusal.value.message == says


def test_reading_and_logging_in_are_no_writes() -> None:
    assert not route("GET", "/a").is_write and route("PUT", "/a").is_write
    assert not Route("POST", "/session", Role.NOBODY, "", lambda console, call: None).is_write
