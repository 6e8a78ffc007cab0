"""`mqgateway access users` and `policies`: what is shown follows from mqadmin's rows."""

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool

WHERE = "-c DefaultCluster"


def test_users_and_policies_are_shown_as_tables() -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        assert tool.run(f"access policies {WHERE}") == 0
        assert tool.out == "no policies\n"
        assert tool.run(f"access users {WHERE}") == 0
        assert tool.out.splitlines()[0].split() == ["USERNAME", "USER", "TYPE", "USER", "STATUS"]
