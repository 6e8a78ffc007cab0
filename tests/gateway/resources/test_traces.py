"""`mqgateway trace show`."""

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool


def test_a_message_without_a_trace() -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        assert tool.run("trace show 7F0000010000") == 3
        assert "RMQ_SYS_TRACE_TOPIC" in tool.err
