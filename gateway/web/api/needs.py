"""The rights that a route needs: on the topic or group in its path or body, or on the cluster.

The actions are those that requests of the remoting protocol need for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.access.policies import cluster as cluster_resource
from mqgateway.gateway.access.policies import group as group_resource
from mqgateway.gateway.access.policies import topic as topic_resource
from mqgateway.gateway.web.call import WebCall

Needs = Callable[[WebCall], Sequence[Need]]


def of_cluster(*actions: Action) -> Needs:
    """The broker's cluster."""
    return lambda call: [Need(cluster_resource(call.cluster), actions)]


def of_topic(*actions: Action) -> Needs:
    """The topic in the path, the query or the body."""
    return lambda call: [Need(topic_resource(call.named("topic")), actions)]


def of_group(*actions: Action) -> Needs:
    """The group in the path, the query or the body."""
    return lambda call: [Need(group_resource(call.named("group")), actions)]
