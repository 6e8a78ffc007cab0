"""The plan of a migration: what the source has, and what the target would refuse."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.migration.kafka.access import read_acls, scram_users
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition
from mqgateway.gateway.migration.kafka.group_settings import read_group_settings, set_group_settings
from mqgateway.gateway.migration.kafka.groups import OFFSET_KINDS, read_groups
from mqgateway.gateway.migration.kafka.plan import KafkaPlan
from mqgateway.gateway.migration.kafka.quotas import read_quotas
from mqgateway.gateway.migration.kafka.reading import EARLIEST, LATEST, offsets
from mqgateway.gateway.migration.kafka.share_groups import SHARE
from mqgateway.gateway.migration.kafka.topics import KafkaTopic, create_topic, read_topics


def survey(source: KafkaCluster, target: KafkaCluster, names: Sequence[str]) -> KafkaPlan:
    """Return the plan for topics with these names, or for all, with its problems. Nothing is changed.

    Raises `ClientError`.
    """
    plan = KafkaPlan(source.bootstrap, target.bootstrap)
    found = read_topics(source)
    plan.problems += [f"the source has no topic {name}" for name in names if name not in found]
    chosen = [one for name, one in found.items() if not names or name in names]
    plan.topics = [one._asdict() for one in chosen]
    plan.problems += _topic_problems(source, target, chosen)
    for group in read_groups(source):
        if group.kind in OFFSET_KINDS:
            plan.groups.append(group.name)
        elif group.kind == SHARE:
            plan.share_groups.append(group.name)
        else:
            plan.problems.append(f"{group.name} is a {group.kind} group: its state is not moved")
    plan.problems += _settings_problems(source, target, plan)
    try:
        plan.acls = read_acls(source)
        plan.users = scram_users(source)
    except ClientError as error:
        plan.problems.append(f"access control is not moved: {error}")
    try:
        plan.client_quotas = read_quotas(source)
    except ClientError as error:
        plan.problems.append(f"quotas are not moved: {error}")
    if plan.users:
        plan.problems += _user_problems(target, plan.users)
    return plan


def _settings_problems(source: KafkaCluster, target: KafkaCluster, plan: KafkaPlan) -> list[str]:
    """Add the settings of groups to a plan; return what the target would refuse."""
    try:
        plan.group_settings = read_group_settings(source)
        refusals = set_group_settings(target, plan.group_settings, is_trial=True)
    except ClientError as error:
        return [f"settings of groups are not moved: {error}"]
    return [f"the target refuses settings of group {name}: {why}" for name, why in sorted(refusals.items())]


def _user_problems(target: KafkaCluster, users: Sequence[str]) -> list[str]:
    try:
        missing = sorted(set(users) - set(scram_users(target)))
    except ClientError as error:
        return [f"the users of the target are not known: {error}"]
    return [f"make the user {name} at the target: Kafka shows no passwords" for name in missing]


def _topic_problems(source: KafkaCluster, target: KafkaCluster, topics: Sequence[KafkaTopic]) -> list[str]:
    present = read_topics(target)
    problems = []
    for topic in topics:
        here = present.get(topic.name)
        if here is None:
            refusal = create_topic(target, topic, is_trial=True)
            problems += [f"the target refuses {topic.name}: {refusal}"] if refusal else []
        elif here.partitions > topic.partitions:
            problems.append(f"{topic.name} has {here.partitions} partitions at the target already")
        elif any(offsets(target, _partitions(here), LATEST).values()):
            problems.append(
                f"{topic.name} has records at the target already: other offsets than the source's"
            )
    return problems + _deleted_problems(source, topics)


def _deleted_problems(source: KafkaCluster, topics: Sequence[KafkaTopic]) -> list[str]:
    return [
        f"{topic.name} begins after offset 0 at the source: other offsets at the target"
        for topic in topics
        if any(offsets(source, _partitions(topic), EARLIEST).values())
    ]


def _partitions(topic: KafkaTopic) -> list[Partition]:
    return [Partition(topic.name, index) for index in range(topic.partitions)]
