"""`mqgateway top`."""

import pytest

from mqgateway.gateway.resources.top import _duration
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import ResourceTool


def test_groups_are_sorted_by_lag_and_shown_with_rates() -> None:
    with Cluster() as cluster:
        for topic in ("Busy", "Quiet"):
            cluster.make_topic(topic, 1)
        producer = cluster.producer()
        consumers = [connect(cluster, f"of{topic}", topic)[0] for topic in ("Busy", "Quiet")]
        for one in (*messages("Busy", 3), *messages("Quiet", 1)):
            cluster.run(producer.send(one))
        cluster.settle(20.0)
        for consumer in consumers:
            cluster.kill(consumer)
        cluster.settle(60.0)

        class Meanwhile(ResourceTool):
            def wait(self, seconds: float) -> None:
                for one in messages("Busy", 4):
                    cluster.run(producer.send(one))
                super().wait(seconds)

        tool = Meanwhile(cluster)
        rows = tool.json("top --span 2")["rows"]
        assert [row["topic"] for row in rows] == ["Busy", "%RETRY%ofBusy", "%RETRY%ofQuiet", "Quiet"]
        first, second = rows[0], rows[-1]
        assert (first["group"], first["topic"], first["behind"], first["members"]) == ("ofBusy", "Busy", 4, 0)
        assert first["inPerSecond"] > 0
        assert (first["outPerSecond"], first["clearIn"]) == (0, "never")
        assert (second["group"], second["behind"], second["clearIn"]) == ("ofQuiet", 0, "-")
        tool.run("top --rows 1")
        assert "8 messages wait; groups: 2" in tool.out
        assert "ofQuiet" not in tool.out


@pytest.mark.parametrize(
    ("behind", "rate", "shown"),
    [(0, 1.0, "-"), (10, 0.0, "never"), (10, -1.0, "never"), (90, 1.0, "1m30s"), (7260, 1.0, "2h01m")],
)
def test_duration_to_catch_up(behind: int, rate: float, shown: str) -> None:
    assert _duration(behind, rate) == shown
