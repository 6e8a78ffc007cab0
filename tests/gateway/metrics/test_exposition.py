import pytest

from mqgateway.engine.meters import Distribution
from mqgateway.engine.steps import run
from mqgateway.gateway.metrics.exposition import Exposition
from mqgateway.gateway.metrics.metric import Metric, MetricKind, Sample


def gauge(*samples: Sample | None, name: str = "m", labels: tuple[str, ...] = ("topic",)) -> Metric[None]:
    return Metric(
        name=name,
        kind=MetricKind.GAUGE,
        meaning="What it is.",
        labels=labels,
        read=lambda _: samples,
        unit="bytes",
    )


def written(metric: Metric[None], most: int = 10, **common: str) -> tuple[str, list[str]]:
    text: list[bytes] = []
    truncated: list[str] = []
    run(Exposition(common, most).write([metric], None, text, truncated))
    return b"".join(text).decode(), truncated


def test_a_gauge() -> None:
    text, _ = written(gauge((("a",), 1), (("b",), 2.5)), cluster="c", zone="z")
    assert text == (
        "# HELP m_bytes What it is.\n"
        "# TYPE m_bytes gauge\n"
        'm_bytes{cluster="c",topic="a",zone="z"} 1\n'
        'm_bytes{cluster="c",topic="b",zone="z"} 2.5\n'
    )


def test_without_labels_there_are_no_braces() -> None:
    assert written(gauge(((), 1), labels=()))[0].splitlines()[-1] == "m_bytes 1"


def test_without_values_there_is_nothing() -> None:
    assert written(gauge())[0] == ""


def test_labels_are_escaped_and_empty_ones_left_out() -> None:
    metric = gauge((('a"b\\c\nd, e="x"', ""), 1), labels=("topic", "is_retry"))
    text, _ = written(metric, **{"my-env": 'q"'})
    assert text.splitlines()[-1] == 'm_bytes{my_env="q\\"",topic="a\\"b\\\\c\\nd, e=\\"x\\""} 1'


def test_a_distribution() -> None:
    distribution = Distribution(2)
    distribution.counts, distribution.sum = [1, 0, 4], 77
    metric: Metric[None] = Metric(
        name="h",
        kind=MetricKind.HISTOGRAM,
        meaning="Sizes.",
        labels=("topic",),
        bounds=(1, 10_000_000),
        read=lambda _: [(("100%s",), distribution)],
    )
    text, _ = written(metric)
    assert text.splitlines()[2:] == [
        'h_bucket{topic="100%s",le="1.0"} 1',
        'h_bucket{topic="100%s",le="10000000.0"} 1',
        'h_bucket{topic="100%s",le="+Inf"} 5',
        'h_count{topic="100%s"} 5',
        'h_sum{topic="100%s"} 77',
    ]


def test_series_beyond_the_limit_are_left_out_and_named() -> None:
    text, truncated = written(gauge(*[((str(i),), i) for i in range(5)]), most=3)
    assert len(text.splitlines()) == 2 + 4
    assert truncated == ["m_bytes"]


def test_the_overflow_of_a_counter_is_within_the_limit() -> None:
    text, truncated = written(gauge((("a",), 1), (None, 7)), most=1, cluster="c")
    assert text.splitlines()[-1] == 'm_bytes{cluster="c",otel_metric_overflow="true"} 7'
    assert not truncated


def test_labels_are_made_once_and_shown_as_the_metric_says() -> None:
    asked: list[tuple[str, ...]] = []

    def shown(_: None, labels: tuple[str, ...]) -> tuple[str, ...]:
        asked.append(labels)
        return (*labels, "true")

    metric: Metric[None] = Metric(
        name="m",
        kind=MetricKind.GAUGE,
        meaning="",
        labels=("topic", "is_system"),
        read=lambda _: [(("a",), 1)],
        shown=shown,
    )
    exposition = Exposition({}, 10)
    for _ in range(3):
        text: list[bytes] = []
        run(exposition.write([metric, metric], None, text, []))
        assert text[0].splitlines()[-1] == b'm{topic="a",is_system="true"} 1' or b"is_system" in text[0]
    assert asked == [("a",)]


def test_labels_that_come_no_more_are_forgotten() -> None:
    exposition = Exposition({}, 1000)
    for turn in range(50):
        samples: list[Sample] = [((f"{turn}-{number}",), 1) for number in range(10)]
        run(exposition.write([gauge(*samples)], None, [], []))
        assert sum(map(len, exposition._texts.values())) <= 30


def test_steps_are_short() -> None:
    metric = gauge(*[((str(i),), i) for i in range(1000)])
    steps = Exposition({}, 1000).write([metric], None, text := [], [])
    assert sum(1 for _ in steps) >= 1000 // 64
    assert all(chunk.count(b"\n") <= 66 for chunk in text)


def test_prometheus_reads_it() -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    hard = 'a"b\\c\nd'
    text, _ = written(gauge(((hard,), 1), (("b",), 2)), env="x")
    (family,) = parser.text_string_to_metric_families(text)
    assert family.type == "gauge"
    assert {sample.labels["topic"]: sample.value for sample in family.samples} == {hard: 1, "b": 2}


def test_samples_may_come_some_at_a_time() -> None:
    parts: list[list[Sample]] = [[(("a",), 1), (("b",), 2)], [], [(("c",), 3), (("d",), 4), (None, 5)]]
    metric: Metric[None] = Metric(
        name="m", kind=MetricKind.COUNTER, meaning="", labels=("topic",), read=lambda _: parts
    )
    text, truncated = written(metric)
    assert text.splitlines()[2:] == [
        'm{topic="a"} 1',
        'm{topic="b"} 2',
        'm{topic="c"} 3',
        'm{topic="d"} 4',
        'm{otel_metric_overflow="true"} 5',
    ]
    assert not truncated
    text, truncated = written(metric, most=2)
    assert len(text.splitlines()) == 2 + 3 and truncated == ["m"]
    assert len(parts[2]) == 3, "whose they are keeps them"


def test_labels_that_are_new_are_made_beside_known_ones() -> None:
    exposition = Exposition({}, 10)
    for samples in ([(("a",), 1)], [(("a",), 2), (('b"',), 3)]):
        text: list[bytes] = []
        run(exposition.write([gauge(*samples)], None, text, []))
    assert b"".join(text).decode().splitlines()[2:] == [
        'm_bytes{topic="a"} 2',
        'm_bytes{topic="b\\""} 3',
    ]
