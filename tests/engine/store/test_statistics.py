"""Counters as the admin tools read them."""

import pytest

from mqgateway.engine.store.statistics import Statistics, in_words

START = 1_700_000_000_000
WALL = 1_700_000_000_000


def test_rates_are_over_ten_seconds_a_minute_and_ten_minutes() -> None:
    statistics = Statistics(WALL, START)
    for second in range(1, 701):
        statistics.put_times += 100 if second <= 680 else 10
        statistics.get_found += 4
        statistics.get_missed += 1
        statistics.get_transferred += 64
        statistics.sample(START + second * 1000)
    info = statistics.runtime_info(START + 700_000)
    assert info["putTps"] == f"10.0 {(100 * 40 + 10 * 20) / 60} {(100 * 580 + 10 * 20) / 600}"
    assert info["getFoundTps"] == "4.0 4.0 4.0"
    assert info["getMissTps"] == "1.0 1.0 1.0"
    assert info["getTotalTps"] == "5.0 5.0 5.0"
    assert info["getTransferredTps"] == "64.0 64.0 64.0"


def test_reads_are_counted_by_what_they_found() -> None:
    statistics = Statistics(WALL, START)
    for count, seconds in ((3, 0.1), (0, 0.3), (2, 0.2)):
        statistics.get(count, seconds)
    assert (statistics.get_found, statistics.get_missed, statistics.get_transferred) == (2, 1, 5)
    assert statistics.get_longest == 0.3


def test_rates_are_numbers_from_the_start() -> None:
    assert Statistics(WALL, START).runtime_info(START)["putTps"] == "0.0 0.0 0.0"


def test_put_times_are_spread_over_the_standards_ranges() -> None:
    statistics = Statistics(WALL, START)
    for millis in (0.5, 5, 10, 49, 99, 150, 499, 999, 1500, 2500, 3500, 4500, 9999, 20_000):
        statistics.put(1, 100, millis / 1000)
    info = statistics.runtime_info(START)
    assert info["putMessageDistributeTime"] == (
        "[<=0ms]:1 [0~10ms]:1 [10~50ms]:2 [50~100ms]:1 [100~200ms]:1 [200~500ms]:1 [500ms~1s]:1 "
        "[1~2s]:1 [2~3s]:1 [3~4s]:1 [4~5s]:1 [5~10s]:1 [10s~]:1 "
    )
    assert (info["putMessageTimesTotal"], info["putMessageSizeTotal"]) == ("14", "1400")
    assert (info["putMessageAverageSize"], info["putMessageEntireTimeMax"]) == ("100.0", "20000")
    assert info["putLatency99"] == "20000.00"


def test_the_spread_is_that_of_the_last_whole_minute() -> None:
    statistics = Statistics(WALL, START)
    statistics.put(1, 1, 0)
    statistics.sample(START + 60_000)
    statistics.put(1, 1, 0.020)
    spread = statistics.runtime_info(START)["putMessageDistributeTime"]
    assert "[<=0ms]:1 " in spread and "[10~50ms]:0 " in spread


def test_the_run_time_is_in_words() -> None:
    info = Statistics(WALL, START).runtime_info(START + 90_061_000)
    assert info["runtime"] == "[ 1 days, 1 hours, 1 minutes, 1 seconds ]"
    assert info["bootTimestamp"] == str(START)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (3 << 20, "3.0 MiB"),
        (1 << 40, "1.0 TiB"),
    ],
)
def test_bytes_as_people_read_them(count: int, text: str) -> None:
    assert in_words(count) == text
