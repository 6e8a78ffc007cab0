"""Causes of a stuck consumer group: `examine` returns the findings, causes before warnings; pure.

Each check is a function of the evidence about the group (`evidence`) and finds one kind of problem. A finding
names its check and its values, so that it can be reported in any language; `texts` has the English.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mqgateway.gateway.doctor.evidence import ConnectedMember, ConsumedQueue, DiagnosedGroup, Held
from mqgateway.gateway.doctor.texts import TEXTS

Weight = Literal["cause", "warning"]
"""A cause prevents consumption; a warning does not."""

IDLE_MILLIS = 60_000
"""Maximum time for which a member may hold messages and consume none. Standard: `analyzeProcessQueue`."""
CACHED_MAX, CACHED_MIB_MAX = 1000, 100
"""Default limits of a member's buffer for a queue, above which it stops pulling: messages and MiB.
Standard: `pullThresholdForQueue`, `pullThresholdSizeForQueue`."""
TRANSACTION_MILLIS = 60_000
"""Age from which an open transaction is reported."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, with the values of its sentences: numbers and names, no words."""

    check: str
    weight: Weight
    values: Mapping[str, Any]

    @property
    def what(self) -> str:
        """The problem, in English."""
        return TEXTS[self.check].what.format_map(self.values)

    @property
    def cure(self) -> str:
        """The remedy, in English."""
        return TEXTS[self.check].cure.format_map(self.values)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON values, with its sentences in English."""
        return {
            "check": self.check,
            "weight": self.weight,
            "what": self.what,
            "cure": self.cure,
            "values": dict(self.values),
        }


def examine(group: DiagnosedGroup) -> list[Finding]:
    """Return all findings: causes before warnings, each in the order of the checks."""
    found: list[Finding] = []
    for check in CHECKS:
        found += check(group)
        if found and found[0].check == "unknown-group":
            break
    return sorted(found, key=lambda one: one.weight != "cause")


def _found(check: str, weight: Weight = "cause", **values: Any) -> Finding:
    return Finding(check, weight, values)


# No member consumes


def unknown_group(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find a group that no broker knows, if all answered."""
    if not group.is_known and group.is_complete:
        yield _found("unknown-group", group=group.name)


def group_disabled(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find a group whose consumption is disabled."""
    if not group.may_consume:
        yield _found("group-disabled", group=group.name)


def no_member(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find a group without connected members. It is only a warning if no messages wait."""
    if not group.members and group.is_complete:
        weight: Weight = "cause" if group.behind else "warning"
        yield _found("no-member", weight, group=group.name, behind=group.behind)


def rebalancing(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find a group of Kafka clients whose partitions are being assigned. Its members consume nothing new."""
    if group.is_rebalancing:
        yield _found("rebalancing", group=group.name, state=group.state, behind=group.behind)


def no_progress(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find a group without progress for `IDLE_MILLIS`, whose members report no state of their own."""
    idle = group.idle_millis
    if idle is None or idle < IDLE_MILLIS or not group.behind or not group.members:
        return
    if not any(one.rates for one in group.members):
        yield _found("no-progress", group=group.name, idle=idle // 1000, behind=group.behind)


# Consumption is not possible or not permitted


def no_route(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics without a route."""
    for topic in group.topics.values():
        if not topic.has_route:
            yield _found("no-route", topic=topic.name)


def no_permission(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics that no group may read, and topics that this group may not read."""
    for topic in group.topics.values():
        if topic.has_route and not topic.is_readable:
            yield _found("topic-unreadable", topic=topic.name)
        if not topic.is_allowed:
            yield _found("reading-forbidden", group=group.name, topic=topic.name)


# Subscriptions


def not_subscribed(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics with waiting messages to which no member subscribes. All subscriptions must be known."""
    wanted = [one.wants for one in group.members]
    if not wanted or None in wanted:
        return
    for topic in group.topics:
        behind = sum(one.behind for one in _queues(group, topic))
        if behind and not any(topic in (one or ()) for one in wanted):
            yield _found("not-subscribed", "warning", group=group.name, topic=topic, behind=behind)


def subscription_conflict(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics with different subscriptions of the members; the broker uses only one of them."""
    known = [one for one in group.members if one.wants is not None]
    for topic in group.topics:
        wanted: dict[str, list[str]] = {}
        for one in known:
            wanted.setdefault((one.wants or {}).get(topic, "-"), []).append(one.client_id)
        if len(wanted) > 1:
            listed = "; ".join(f"{what} ({', '.join(sorted(who))})" for what, who in sorted(wanted.items()))
            yield _found("subscription-conflict", topic=topic, wanted=listed)


def filter_matches_nothing(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics whose next messages all fail the filter. These are skipped, and only seem to wait."""
    for topic in group.topics:
        samples = [one.sample for one in _queues(group, topic) if one.sample is not None]
        looked_at = sum(one.looked_at for one in samples)
        if looked_at and not any(one.matched for one in samples):
            wanted = {(one.wants or {}).get(topic, "*") for one in group.members}
            shown = " | ".join(sorted(wanted)) or "*"
            yield _found("filter-matches-nothing", topic=topic, looked_at=looked_at, expression=shown)


# Offsets and queues


def offset_outside(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find offsets before the first or past the last message of a queue."""
    for topic in group.topics:
        lost = [one for one in _queues(group, topic) if 0 <= one.consumed < one.least]
        if lost:
            count = sum(one.least - one.consumed for one in lost)
            yield _found("offset-lost", "warning", queues=_names(lost), topic=topic, lost=count)
        ahead = [one for one in _queues(group, topic) if one.consumed > one.end]
        if ahead:
            most = max(one.consumed - one.end for one in ahead)
            yield _found("offset-ahead", queues=_names(ahead), topic=topic, ahead=most, group=group.name)


def queue_without_owner(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find queues with waiting messages that no member owns. Checked only if all members reported their
    queues, and one of them has any."""
    if group.is_popping or group.is_broadcasting or any(one.holds is None for one in group.members):
        return
    held = {place for one in group.members for place in one.holds or ()}
    if not held:
        return
    for topic in group.topics:
        left = [one for one in _queues(group, topic) if one.behind and one.place not in held]
        if left and any(topic in (one.wants or ()) for one in group.members):
            behind = sum(one.behind for one in left)
            yield _found("queue-without-owner", queues=_names(left), topic=topic, behind=behind)


# State of the members


def lock_held(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find members that consume in order and lack the lock of their queue."""
    for member, topic, queues in _held(group, lambda _, held: held.lacks_lock):
        listed = _names([queue for queue, _ in queues])
        yield _found("lock-held", client=member.client_id, queues=listed, topic=topic)


def stopped_listening(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find members that hold messages and have consumed none for `IDLE_MILLIS`."""

    def hangs(member: ConnectedMember, held: Held) -> bool:
        is_old = 0 < held.last_consume < group.at - IDLE_MILLIS
        return held.cached > 0 and not held.lacks_lock and is_old

    for member, topic, queues in _held(group, hangs):
        idle = group.at - max(held.last_consume for _, held in queues)
        yield _found(
            "queue-suspended" if member.is_ordered else "listener-hangs",
            group=group.name,
            client=member.client_id,
            queues=_names([queue for queue, _ in queues]),
            topic=topic,
            idle=idle // 1000,
            cached=sum(held.cached for _, held in queues),
        )


def not_pulling(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find members with an empty buffer that have not pulled for `IDLE_MILLIS`, although messages wait."""

    def rests(member: ConnectedMember, held: Held) -> bool:
        return not held.cached and not held.lacks_lock and 0 < held.last_pull < group.at - IDLE_MILLIS

    for member, topic, queues in _held(group, rests):
        idle = group.at - max(held.last_pull for _, held in queues)
        listed = _names([queue for queue, _ in queues])
        yield _found("not-pulling", client=member.client_id, queues=listed, topic=topic, idle=idle // 1000)


def flow_control(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find members whose buffer is full."""

    def is_full(member: ConnectedMember, held: Held) -> bool:
        return held.cached >= CACHED_MAX or held.cached_mib >= CACHED_MIB_MAX

    for member, topic, queues in _held(group, is_full):
        yield _found(
            "flow-control",
            client=member.client_id,
            queues=_names([queue for queue, _ in queues]),
            topic=topic,
            cached=sum(held.cached for _, held in queues),
            mib=sum(held.cached_mib for _, held in queues),
        )


def slow_listener(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics with waiting messages in which messages arrive faster than listeners consume them."""
    for topic in group.topics.values():
        rates = [(one.rates or {}).get(topic.name) for one in group.members]
        known = [one for one in rates if one is not None]
        consumed = sum(one.consumed for one in known)
        behind = sum(one.behind for one in _queues(group, topic.name))
        if known and behind and topic.incoming is not None and topic.incoming > consumed:
            millis = max(one.listener_millis for one in known)
            if millis > 0:
                yield _found(
                    "slow-listener",
                    topic=topic.name,
                    incoming=topic.incoming,
                    consumed=consumed,
                    millis=millis,
                )


def retry_storm(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find a group in which at least half of the deliveries to listeners fail."""
    rates = [rate for one in group.members for rate in (one.rates or {}).values()]
    failed = sum(one.failed for one in rates)
    tried = failed + sum(one.consumed for one in rates)
    if failed and failed * 2 >= tried:
        yield _found(
            "retry-storm", group=group.name, failed=failed, tried=tried, retries=group.retries_behind
        )


def retries_waiting(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find waiting messages in the retry topic."""
    if group.retries_behind:
        yield _found("retries-waiting", "warning", group=group.name, retries=group.retries_behind)


def pop_invisible(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics in which at least half of the waiting messages are popped and not acknowledged."""
    if not group.is_popping:
        return
    for topic in group.topics:
        queues = _queues(group, topic)
        behind = sum(one.behind for one in queues)
        held = sum(max(0, one.pulled - one.consumed) for one in queues if one.pulled is not None)
        if behind and held * 2 >= behind:
            yield _found("pop-invisible", topic=topic, held=held, behind=behind)


# Outside the group


def transaction_pending(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find topics with old open transactions: missing messages may not be committed yet."""
    for topic in group.topics.values():
        if topic.transactions:
            age, count = group.at - min(topic.transactions), len(topic.transactions)
            if age > TRANSACTION_MILLIS:
                yield _found("transaction-pending", "warning", topic=topic.name, count=count, age=age // 1000)


def dead_letters(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find dead letters of the group."""
    if group.dead_letters:
        yield _found("dead-letters", "warning", group=group.name, count=group.dead_letters)


def idle_members(group: DiagnosedGroup) -> Iterator[Finding]:
    """Find members without a queue, while other members have queues."""
    if group.is_popping or group.is_broadcasting or any(one.holds is None for one in group.members):
        return
    idle = [one for one in group.members if not one.holds]
    if idle and len(idle) < len(group.members):
        yield _found(
            "idle-members",
            "warning",
            idle=len(idle),
            members=len(group.members),
            queues=len(group.queues),
        )


Check = Callable[[DiagnosedGroup], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    unknown_group,
    group_disabled,
    no_member,
    rebalancing,
    no_progress,
    no_route,
    no_permission,
    not_subscribed,
    subscription_conflict,
    filter_matches_nothing,
    offset_outside,
    queue_without_owner,
    lock_held,
    stopped_listening,
    not_pulling,
    flow_control,
    slow_listener,
    retry_storm,
    retries_waiting,
    pop_invisible,
    transaction_pending,
    dead_letters,
    idle_members,
)
"""Checks in the order of their reports."""


def _queues(group: DiagnosedGroup, topic: str) -> list[ConsumedQueue]:
    return [one for one in group.queues if one.place.topic == topic]


def _held(
    group: DiagnosedGroup, is_so: Callable[[ConnectedMember, Held], bool]
) -> Iterator[tuple[ConnectedMember, str, list[tuple[ConsumedQueue, Held]]]]:
    """Yield each member and topic with the member's queues that fulfil `is_so` and have waiting messages."""
    for member in group.members:
        for topic in group.topics:
            queues = [
                (one, held)
                for one in _queues(group, topic)
                if one.behind and (held := (member.holds or {}).get(one.place)) and is_so(member, held)
            ]
            if queues:
                yield member, topic, queues


def _names(queues: list[ConsumedQueue]) -> str:
    """Return the names of the first three queues, and the number of queues if there are more. The text has
    no words, because it is used in sentences of any language."""
    named = [f"{one.place.broker}:{one.place.queue_id}" for one in queues[:3]]
    return ", ".join(named) if len(queues) <= 3 else f"{', '.join(named)}, ... ({len(queues)})"
