"""English sentences of the findings, by the name of their check."""

from __future__ import annotations

from typing import NamedTuple


class Sentence(NamedTuple):
    """Text of a finding and its remedy, with the values in braces."""

    what: str
    cure: str


TEXTS = {
    "unknown-group": Sentence(
        "no broker knows the group {group}: it has no settings, no offsets and no members",
        "check its name and namespace, and that the name servers are the right ones",
    ),
    "group-disabled": Sentence(
        "the group {group} may not consume: consumeEnable is false",
        "allow it: mqadmin updateSubGroup -g {group} -c CLUSTER -s true",
    ),
    "no-member": Sentence(
        "no member of the group {group} is connected, and {behind} messages wait",
        "start a consumer; if one runs, check its name servers, namespace and credentials",
    ),
    "rebalancing": Sentence(
        "the group {group} is rebalancing: its state is {state}, and {behind} messages wait",
        "ask again in a minute; if it is still so, look in the members' logs for expired sessions, "
        "for polls that are too far apart, and for restarts",
    ),
    "no-progress": Sentence(
        "no offset of the group {group} has moved for {idle} s: it has members, and {behind} messages wait",
        "look at the members' logs and at the message at the head: it may fail each time, "
        "a listener may hang, or a consumer may commit no offsets",
    ),
    "no-route": Sentence(
        "the topic {topic} has no route: no name server knows a broker that has it",
        "create it (mqgateway topic create {topic} -c CLUSTER), or bring its broker back",
    ),
    "topic-unreadable": Sentence(
        "the topic {topic} is not readable: its permission does not include read",
        "allow it: mqadmin updateTopicPerm -t {topic} -p 6 -c CLUSTER",
    ),
    "reading-forbidden": Sentence(
        "the group {group} is forbidden to read the topic {topic}",
        "allow it again where it was forbidden (request 353, readable=true)",
    ),
    "not-subscribed": Sentence(
        "no member subscribes to the topic {topic}, of which {behind} messages wait",
        "subscribe to it, or skip its messages: mqgateway offset reset {group} {topic} --to last",
    ),
    "subscription-conflict": Sentence(
        "members of the group have different subscriptions to the topic {topic}: {wanted}; "
        "brokers use the one received last",
        "give all members of the group the same subscription and filter, or use two groups",
    ),
    "filter-matches-nothing": Sentence(
        "of the next {looked_at} messages of {topic} the filter {expression} selects none",
        "check tags and filter: mqgateway message tail {topic}",
    ),
    "offset-lost": Sentence(
        "{topic} ({queues}) has an offset before the first message: {lost} messages were deleted unconsumed",
        "they are skipped with the next pull; keep messages longer (fileReservedTime), or consume faster",
    ),
    "offset-ahead": Sentence(
        "{topic} ({queues}) has an offset past the last message, by up to {ahead}",
        "reset the offsets: mqgateway offset reset {group} {topic} --to last",
    ),
    "queue-without-owner": Sentence(
        "{topic} ({queues}) belongs to no member, and {behind} messages wait there",
        "see whether all members know the same brokers and have client ids of their own; "
        "restart the one that lags behind",
    ),
    "lock-held": Sentence(
        "{client} may not consume {topic} ({queues}) in order: another client has the lock",
        "wait for a minute, until the lock of a client that died ends; "
        "then look for a second client with the same group",
    ),
    "queue-suspended": Sentence(
        "{client} consumes {topic} ({queues}) in order and has consumed nothing for {idle} s, "
        "with {cached} buffered messages: a message fails again and again, or its listener hangs",
        "look at the message at the head, and at the client's stacks: mqadmin consumerStatus -g {group} -i "
        "{client} -s",
    ),
    "listener-hangs": Sentence(
        "{client} has consumed nothing of {topic} ({queues}) for {idle} s, "
        "with {cached} buffered messages: its listener hangs",
        "look at its stacks: mqadmin consumerStatus -g {group} -i {client} -s",
    ),
    "not-pulling": Sentence(
        "{client} has requested no messages of {topic} ({queues}) for {idle} s",
        "check if it can reach the broker and if it was suspended; restart it",
    ),
    "flow-control": Sentence(
        "the buffer of {client} for {topic} ({queues}) is full: {cached} messages, {mib} MiB; pulling pauses",
        "its listener is slower than messages arrive: make it faster, or start more members",
    ),
    "slow-listener": Sentence(
        "messages of {topic} arrive faster than they are consumed: {incoming:.1f} a second arrive, "
        "{consumed:.1f} are consumed; a message takes a listener {millis:.0f} ms",
        "make the listener faster, give it more threads, or start more members (up to one a queue)",
    ),
    "retry-storm": Sentence(
        "{failed:.1f} of {tried:.1f} messages a second fail in the listeners; "
        "{retries} wait to be tried again",
        "read the clients' logs; the messages: mqgateway message tail %RETRY%{group}",
    ),
    "retries-waiting": Sentence(
        "{retries} messages that failed before wait in %RETRY%{group} to be consumed again",
        "see why they failed in the clients' logs; the messages: mqgateway message tail %RETRY%{group}",
    ),
    "pop-invisible": Sentence(
        "{held} of {behind} messages that wait in {topic} were popped and not acknowledged yet: "
        "they stay invisible until their invisible time ends",
        "acknowledge messages, or pop with a shorter invisible time",
    ),
    "transaction-pending": Sentence(
        "{count} transactions of {topic} are open, the oldest for {age} s: "
        "their messages are invisible until they are committed",
        "check if the producers respond: mqgateway transaction list",
    ),
    "dead-letters": Sentence(
        "{count} messages failed and are now dead letters",
        "look at them: mqgateway dlq list {group}; send them again: mqgateway dlq replay {group} --dry-run",
    ),
    "idle-members": Sentence(
        "{idle} of {members} members are idle: the topics of the group have {queues} queues",
        "give the topic more queues, or stop them",
    ),
}
