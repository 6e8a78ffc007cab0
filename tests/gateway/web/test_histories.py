from mqgateway.gateway.web.histories import HISTORIES_MAX, KEPT, Histories


def test_idle_time_counts_while_messages_wait_and_offsets_stay() -> None:
    lags = Histories("lag", ("consumed",))
    assert lags.idle_millis("G") is None
    for time, lag, consumed, idle in (
        (0, 5, 10, 0),
        (30_000, 6, 10, 30_000),
        (60_000, 7, 10, 60_000),
        (90_000, 6, 11, 0),
        (120_000, 0, 17, 0),
        (150_000, 0, 17, 0),
        (180_000, 4, 17, 30_000),
    ):
        lags.note("G", time, lag, consumed)
        assert lags.idle_millis("G") == idle


def test_samples_are_returned_with_rates_from_a_time_on() -> None:
    lags = Histories("lag", ("consumed",))
    for time, lag, consumed in ((0, 5, 10), (30_000, 3, 40), (60_000, 9, 0)):
        lags.note("G", time, lag, consumed)
    assert lags.since("G", 0) == {"time": [0.0, 30.0, 60.0], "lag": [5, 3, 9], "consumed": [0.0, 1.0, 0.0]}
    assert lags.since("G", 30_000)["consumed"] == [1.0, 0.0]
    assert lags.since("other", 0) == {"time": [], "lag": [], "consumed": []}


def test_histories_have_a_limit_and_end_with_their_groups() -> None:
    lags = Histories("lag", ("consumed",))
    for time in range(2 * KEPT):
        lags.note("G", time, 1, time)
    assert KEPT <= len(lags.since("G", 0)["time"]) <= KEPT + KEPT // 16
    for number in range(HISTORIES_MAX):
        lags.note(f"G{number}", 0, 0, 0)
    assert lags.idle_millis(f"G{HISTORIES_MAX - 1}") is None
    lags.retain({"G1"})
    assert (lags.idle_millis("G"), lags.idle_millis("G1")) == (None, 0)


def test_each_total_has_a_rate_of_its_own() -> None:
    topics = Histories("messages", ("in", "bytes"))
    topics.note("T", 0, 5, 10, 100)
    topics.note("T", 30_000, 6, 40, 400)
    assert topics.since("T", 0) == {
        "time": [0.0, 30.0],
        "messages": [5, 6],
        "in": [0.0, 1.0],
        "bytes": [0.0, 10.0],
    }
