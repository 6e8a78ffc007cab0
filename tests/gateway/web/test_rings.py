from mqgateway.gateway.web.rings import Rings


def test_values_are_returned_since_a_time() -> None:
    rings = Rings(("a", "b"))
    for second in range(5):
        rings.add(second * 10, {"a": second, "b": -second})
    assert rings.since(20) == {"time": [20, 30, 40], "a": [2, 3, 4], "b": [-2, -3, -4]}
    assert rings.since(50) == {"time": [], "a": [], "b": []}
    assert rings.last() == {"a": 4, "b": -4} and Rings(("a",)).last() == {"a": 0}


def test_of_many_points_the_mean_of_neighbours_is_given() -> None:
    rings = Rings(("a",))
    for second in range(100):
        rings.add(second, {"a": second % 2})
    assert rings.since(0, 50) == {"time": [at + 0.5 for at in range(0, 100, 2)], "a": [0.5] * 50}
    assert len(rings.since(1, 50)["a"]) == 50


def test_the_oldest_go() -> None:
    rings = Rings(("a",), kept=100)
    for second in range(1000):
        rings.add(second, {"a": second})
    assert 100 <= len(rings) <= 107 and rings.last() == {"a": 999}
