import pytest

from mqgateway.gateway.web.group_state import STATES, group_state


@pytest.mark.parametrize(
    ("members", "lag", "kafka_state", "idle", "expected"),
    [
        (0, 0, "", None, "no-members"),
        (0, 5, "Empty", 90_000, "no-members"),
        (1, 0, "Stable", 90_000, "ok"),
        (1, 5, "PreparingRebalance", 90_000, "rebalancing"),
        (1, 5, "Stable", None, "behind"),
        (1, 5, "", 59_999, "behind"),
        (1, 5, "Stable", 60_000, "stuck"),
    ],
)
def test_state_follows_from_members_lag_and_progress(
    members: int, lag: int, kafka_state: str, idle: int | None, expected: str
) -> None:
    assert expected in STATES
    assert group_state(members=members, lag=lag, kafka_state=kafka_state, idle_millis=idle) == expected
