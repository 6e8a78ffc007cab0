"""Scrapes of several processes as one text."""

from __future__ import annotations

from mqgateway.engine.steps import run
from mqgateway.gateway.metrics.merging import LINES_A_STEP, merged
from tests.support.gateway.metrics import parsed

A = b"""# HELP puts Messages put.
# TYPE puts counter
puts{topic="T",node_id="n-0"} 1
# HELP up The process runs.
# TYPE up gauge
up 1
# TYPE lag histogram
lag_bucket{le="1.0"} 1
lag_count{} 1
"""
MORE = b"""# TYPE more gauge
more{broker="own",a="b"} 7
"""
B = A.replace(b"n-0", b"n-1").replace(b"up 1", b"up 0") + b'# TYPE more gauge\nmore{broker="own",a="b"} 7\n'


def text_of(*scrapes: tuple[str, bytes]) -> str:
    return b"".join(run(merged(scrapes))).decode()


def test_lines_of_a_metric_are_one_group_with_the_names_of_the_processes() -> None:
    text = text_of(("n-0", A), ("n-1", B))
    assert text.splitlines()[:4] == [
        "# HELP puts Messages put.",
        "# TYPE puts counter",
        'puts{broker="n-0",topic="T",node_id="n-0"} 1',
        'puts{broker="n-1",topic="T",node_id="n-1"} 1',
    ]
    assert 'up{broker="n-0"} 1\nup{broker="n-1"} 0\n' in text
    assert 'lag_bucket{broker="n-0",le="1.0"} 1\nlag_count{broker="n-0"} 1\n' in text
    assert text.count("# TYPE") == 4
    parsed(text)  # no series twice


def test_own_label_is_kept_and_a_scrape_without_a_name_gets_none() -> None:
    text = text_of(("", A), ("n-1", B))
    assert 'more{broker="own",a="b"} 7' in text
    assert 'puts{topic="T",node_id="n-0"} 1\nputs{broker="n-1"' in text


def test_long_scrapes_are_merged_in_steps() -> None:
    lines = b"# TYPE puts counter\n" + b"".join(b'puts{topic="%d"} 1\n' % n for n in range(3 * LINES_A_STEP))
    steps = merged([("a", lines), ("b", lines)])
    assert sum(1 for _ in steps) == 8
