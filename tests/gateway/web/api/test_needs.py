from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action, cluster, group, topic
from mqgateway.gateway.web.api.needs import of_cluster, of_group, of_topic
from mqgateway.gateway.web.call import Caller, WebCall
from mqgateway.gateway.web.route import Role

CALL = WebCall(Caller("", Role.ADMIN, "::1"), 0, "C", path={"topic": "T"}, body={"group": "%RETRY%G"})


def test_needs_have_resource_and_actions() -> None:
    for needs, resource in ((of_cluster, cluster("C")), (of_topic, topic("T")), (of_group, group("G"))):
        [need] = needs(Action.GET, Action.LIST)(CALL)
        assert need == Need(resource, (Action.GET, Action.LIST))
