"""Requests of administrators, by subject.

    from mqgateway.admin import Admin, groups, topics

    with Admin("127.0.0.1:9876") as admin:
        ends = admin.ask(topics.stats("Orders"), "broker-a")
        progress = admin.ask_brokers(groups.progress("billing"))

Every function of these modules returns a `Question`, whose answer is typed.
"""

from mqgateway.gateway.client import Admin, SubscriptionGroupConfig, TopicConfig
from mqgateway.gateway.client import admin_access as access
from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_lite as lite
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.admin_question import Question

__all__ = [
    "Admin",
    "Question",
    "SubscriptionGroupConfig",
    "TopicConfig",
    "access",
    "broker",
    "consumers",
    "groups",
    "lite",
    "messages",
    "names",
    "replicas",
    "topics",
]
