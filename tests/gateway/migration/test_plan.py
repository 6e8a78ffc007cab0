"""Plans and progress as files, and the settings that both brokers share."""

import pytest

from mqgateway.gateway.migration.plan import (
    GroupPlan,
    MigrationError,
    MigrationPlan,
    Progress,
    Side,
    Way,
    as_file,
    decode,
    shared_settings,
)

PLAN = MigrationPlan(
    ["10.0.0.1:9876"],
    [GroupPlan("a", "C", Way.IN_PLACE, Side("h:1", end="systemctl stop"), Side("h:2"), drain=False)],
    5.0,
)


def test_plan_round_trips() -> None:
    assert decode(PLAN.encode(), "plan") == PLAN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version":2}',
        '{"version":1,"groups":[{"way":"fly"}]}',
        '{"version":1,"groups":[],"x":1}',
    ],
)
def test_invalid_plan_is_rejected(text: str) -> None:
    with pytest.raises(MigrationError, match="plan"):
        decode(text.encode(), "plan")


def test_progress_is_kept_and_forgotten() -> None:
    progress = Progress()
    progress.of("a", "forward").done.append("join")
    progress.of("a", "forward").kept["end"] = 7
    again = Progress.decode(progress.encode(), "file")
    assert again.of("a", "forward") == progress.of("a", "forward")
    again.forget("a", "forward")
    assert again.of("a", "forward").done == []
    assert Progress.decode(b"", "file").of("a", "back").done == []
    with pytest.raises(MigrationError, match="file"):
        Progress.decode(b"{", "file")


def test_shared_settings_are_known_to_both_and_not_defaults() -> None:
    defaults = {"flushDiskType": "ASYNC_FLUSH", "fileReservedTime": "72", "brokerId": "0", "brokerRole": "x"}
    fields = {"flushDiskType": "SYNC_FLUSH", "fileReservedTime": "72", "brokerId": "3", "threads": "9"}
    assert shared_settings(fields, defaults) == {"flushDiskType": "SYNC_FLUSH"}


def test_a_file_of_settings() -> None:
    assert as_file({"a": "1", "b": "2"}, ("b", "3")) == "a=1\nb=3\n"
