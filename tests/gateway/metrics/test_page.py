from pathlib import Path

from mqgateway.gateway.metrics.page import tables

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_lists_every_metric() -> None:
    """`python -m mqgateway.gateway.metrics.page` prints the tables."""
    text = PAGE.read_text()
    assert f"<!-- the metrics -->\n{tables()}<!-- end -->" in text
    assert "| `rocketmq_consumer_lag_messages` | gauge |" in text
