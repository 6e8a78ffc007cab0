"""Names that have to exist before something is done with them."""

import pytest

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("topic delete Nope -c DefaultCluster", "topic Nope"),
        ("transaction list Nope", "topic Nope"),
        ("group delete Nope -c DefaultCluster", "consumer group Nope"),
        ("group members Nope", "consumer group Nope"),
        ("offset show Nope", "consumer group Nope"),
        ("offset reset Nope T --to first --yes", "consumer group Nope"),
    ],
)
def test_unknown_name_is_not_found(call: str, name: str) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        tool = ResourceTool(cluster)
        assert tool.run(call) == 3
        assert tool.err.startswith(f"mqgateway: error: there is no {name}; see the ")
