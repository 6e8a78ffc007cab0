"""Resource commands `mqgateway topic`, `group`, `offset` and so on, beyond those of RocketMQ's mqadmin.

Each command is declared like those of mqadmin (`gateway.mqadmin.declaration`), queries servers in the same
way, and has the same flags and exit codes. If mqadmin has the command, this one runs it and prints a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.mqadmin.catalogue import LOCAL_NAME_SERVERS, Catalogue
from mqgateway.gateway.mqadmin.commands import CommandEntry
from mqgateway.gateway.resources.examples import EXAMPLES

PLACES = {
    "topic list": CommandEntry("topics", "list user topics with their type, queues and brokers"),
    "topic describe": CommandEntry(
        "topics", "show type, permission, queues with offsets, and consumer groups of a topic"
    ),
    "topic route": CommandEntry("topics", "show the brokers and queues of a topic, as clients see them"),
    "topic create": CommandEntry("topics", "create or change a topic"),
    "topic delete": CommandEntry(
        "topics", "delete a topic from the brokers of a cluster and from the name servers"
    ),
    "group list": CommandEntry("groups", "list the consumer groups with their lag"),
    "group describe": CommandEntry("groups", "show the configuration of a consumer group at each broker"),
    "group members": CommandEntry("groups", "list the connected members of a consumer group at all brokers"),
    "group create": CommandEntry("groups", "create or change a consumer group"),
    "group delete": CommandEntry(
        "groups", "delete a consumer group; with -c also its retry and dead-letter topics"
    ),
    "message get": CommandEntry("messages", "show a message by id, with all its properties"),
    "message find": CommandEntry("messages", "show the messages with a key, oldest first"),
    "dlq list": CommandEntry(
        "dead_letters", "list the dead letters of a group; without GROUP, the groups that have any"
    ),
    "dlq replay": CommandEntry("dead_letters", "send all or selected dead letters of a group again"),
    "offset show": CommandEntry("offsets", "show the offset and lag of a group in each queue"),
    "offset reset": CommandEntry(
        "offsets",
        "move a group to another offset, after a preview and a confirmation; offset undo reverts it",
    ),
    "offset undo": CommandEntry("offsets", "move a group back to its offsets before the last offset reset"),
    "offset clone": CommandEntry("offset_copies", "copy the offsets of one consumer group to another"),
    "broker list": CommandEntry("brokers", "list the brokers of all clusters with their load"),
    "broker status": CommandEntry("brokers", "show the runtime statistics of brokers"),
    "broker add": CommandEntry("brokers", "add a broker to `serve --brokers` while the others serve"),
    "broker remove": CommandEntry(
        "brokers", "remove the last broker of `serve --brokers` once its messages are consumed"
    ),
    "cluster list": CommandEntry("brokers", "list the clusters and the masters of their broker sets"),
    "access users": CommandEntry("access", "list the users of a broker"),
    "access policies": CommandEntry("access", "list the policies of a broker"),
    "timer list": CommandEntry("timers", "count pending timer messages by topic"),
    "transaction list": CommandEntry(
        "transactions", "list half messages without commit or rollback, oldest first"
    ),
    "transaction resume": CommandEntry(
        "transactions", "check a half message with its producer again after the broker stopped checking it"
    ),
    "trace show": CommandEntry("traces", "show the trace of a message: its producer and consumers"),
    "config show": CommandEntry("configuration", "show all settings of brokers"),
    "config set": CommandEntry("configuration", "change a setting of brokers"),
    "config diff": CommandEntry("configuration", "compare the settings of two brokers"),
    "config explain": CommandEntry("configuration", "explain a setting: its meaning, default and effect"),
    "profile list": CommandEntry("profiles", "list all profiles, and the current one"),
    "profile show": CommandEntry("profiles", "show a profile without its secret key"),
    "profile set": CommandEntry("profiles", "create or change a profile from the given flags"),
    "profile use": CommandEntry("profiles", "make a profile the current one"),
    "profile remove": CommandEntry("profiles", "remove a profile"),
    "top": CommandEntry("top", "show the groups with the largest lag, updated until Ctrl-C on a terminal"),
    "doctor": CommandEntry("doctor", "find the causes of a stuck consumer group, each with its remedy"),
}
"""Commands in the order of the help."""

ABOUT = {
    "topic": "List, describe, create and delete topics.",
    "group": "List, describe, create and delete consumer groups.",
    "message": "Get a message by id, find messages by key.",
    "dlq": "List dead letters, and send them again.",
    "offset": "Show, reset, undo and clone offsets of groups.",
    "broker": "List brokers, show their runtime statistics, and remove one.",
    "cluster": "List clusters, and show their health.",
    "access": "List users and policies, check a permission.",
    "timer": "List pending timer messages.",
    "transaction": "List open transactions, and check them with producers again.",
    "trace": "Show the trace of a message.",
    "config": "Show, set, compare and explain settings.",
    "profile": "Store servers and credentials in profiles.",
    "top": "Show the groups with the largest lag.",
    "doctor": "Find the causes of a stuck consumer group.",
}
"""Purpose of each resource, for the help."""

ELSEWHERE = {
    "message tail": CommandEntry("tail", "print the newest messages of a topic and new ones as they arrive"),
    "message send": CommandEntry("send", "send messages"),
    "cluster status": CommandEntry("cluster", "show the masters, the in-sync replicas and problems"),
    "access check": CommandEntry("access", "check if a user has a permission, and which policy decides"),
}
"""Commands of resources that are click commands, with their module of `gateway.cli`."""

CATALOGUE = Catalogue(
    "mqgateway",
    __name__,
    PLACES,
    more=ELSEWHERE,
    name_servers=LOCAL_NAME_SERVERS,
    examples=EXAMPLES,
)

RUN_SERVERS = frozenset({"broker"})
"""Resources whose name alone runs a server."""

FOUND = 5
"""Exit code of `doctor` if it found a cause, and of `config diff` if there are differences."""


def is_resource_command(arguments: Sequence[str]) -> bool:
    """Return True for a command line of a resource command.

    Its first word is a resource, and the first two do not run a server or a click command.
    """
    resource, pair = "".join(arguments[:1]), " ".join(arguments[:2])
    if resource not in ABOUT or pair in ELSEWHERE:
        return False
    return resource not in RUN_SERVERS or pair in PLACES
