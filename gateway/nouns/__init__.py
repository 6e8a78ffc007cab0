"""`mqgateway topic`, `group`, `offset` and so on: what the standard's tool lacks, or says in more words.

Each command is declared as those of mqadmin are (`gateway.mqadmin.declaration`), asks servers in the same
way, and has the same flags and exit codes; where mqadmin has a command, the noun's is that one with a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.mqadmin.commands import Place
from mqgateway.gateway.mqadmin.declaration import LOCAL_NAME_SERVERS, Catalogue
from mqgateway.gateway.nouns.examples import EXAMPLES

PLACES = {
    "topic list": Place("topics", "list the topics of users, with their type, queues and brokers"),
    "topic describe": Place(
        "topics", "show a topic: type, permission, queues with their ends, consumer groups"
    ),
    "topic route": Place("topics", "show the brokers and queues of a topic, as clients see them"),
    "topic create": Place("topics", "create a topic, or change it"),
    "topic delete": Place("topics", "delete a topic from the brokers of a cluster and from the name servers"),
    "group list": Place("groups", "list the consumer groups, and how many messages wait for each"),
    "group describe": Place("groups", "show how a consumer group is configured at each broker"),
    "group members": Place("groups", "list the connected members of a consumer group, at all brokers"),
    "group create": Place("groups", "create a consumer group, or change it"),
    "group delete": Place("groups", "delete a consumer group; with -c its retry and dead-letter topics too"),
    "message get": Place("messages", "show the message of an id, with all its properties"),
    "message find": Place("messages", "show the messages with a key, the oldest first"),
    "dlq list": Place(
        "dead_letters", "list the dead letters of a group; without one, the groups that have any"
    ),
    "dlq replay": Place("dead_letters", "send dead letters of a group again, all or those chosen"),
    "offset show": Place("offsets", "show a group's offset in each queue, and how many messages wait there"),
    "offset reset": Place(
        "offsets", "move a group to another offset: shows the effect, asks first, and can be undone"
    ),
    "offset undo": Place("offsets", "move a group back to its offsets before the last reset of this tool"),
    "offset clone": Place("offsets", "move a consumer group to the offsets of another one"),
    "broker list": Place("brokers", "list the brokers of all clusters, and how busy they are"),
    "broker status": Place("brokers", "show all figures of brokers"),
    "cluster list": Place("brokers", "list the clusters, and which of their broker groups have a master"),
    "access users": Place("access", "list the users of a broker"),
    "access policies": Place("access", "list the policies of a broker"),
    "timer list": Place("timers", "count the timed messages that are not due yet, by topic"),
    "transaction list": Place(
        "transactions", "list half messages without commit or rollback, the oldest first"
    ),
    "transaction resume": Place(
        "transactions", "ask the producer again about a half message that the broker gave up"
    ),
    "trace show": Place("traces", "show who sent and consumed a message, as clients traced it"),
    "config show": Place("configuration", "show all settings of brokers"),
    "config set": Place("configuration", "change a setting of brokers"),
    "config diff": Place("configuration", "compare the settings of two brokers"),
    "config explain": Place(
        "configuration", "explain a setting: its meaning, its default, and whether it has an effect here"
    ),
    "profile list": Place("profiles", "list all profiles, and the current one"),
    "profile show": Place("profiles", "show a profile without its secret key"),
    "profile set": Place("profiles", "create a profile from the flags given, or change one"),
    "profile use": Place("profiles", "make a profile the current one"),
    "profile remove": Place("profiles", "remove a profile"),
    "top": Place("top", "show the groups with the most messages waiting; live on a terminal, until Ctrl-C"),
    "doctor": Place("doctor", "find out why a consumer group is stuck: causes first, each with its remedy"),
}
"""The commands in the order in which they are listed."""

ABOUT = {
    "topic": "List, describe, create and delete topics.",
    "group": "List, describe, create and delete consumer groups.",
    "message": "Get a message by id, find messages by key.",
    "dlq": "List dead letters, and send them again.",
    "offset": "Show, reset, undo and clone offsets of groups.",
    "broker": "List brokers, and show their figures.",
    "cluster": "List clusters, and show whether they are well.",
    "access": "List users and policies, check a permission.",
    "timer": "List timed messages that wait.",
    "transaction": "List open transactions, ask producers again.",
    "trace": "Show what became of a message.",
    "config": "Show, set, compare and explain settings.",
    "profile": "Keep servers and credentials under a name.",
    "top": "Show the groups with the most messages waiting.",
    "doctor": "Find out why a consumer group is stuck.",
}
"""What each noun is for."""

ELSEWHERE = {
    "message tail": Place("tail", "print the newest messages of a topic, and those that come"),
    "message send": Place("send", "send messages"),
    "cluster status": Place("cluster", "show who is master, who is in sync, and what is wrong"),
    "access check": Place("access", "check whether a user may do something, and by which policy"),
}
"""Commands of nouns that are click's, by the module of `gateway.cli` that has them."""

CATALOGUE = Catalogue(
    "mqgateway",
    __name__,
    PLACES,
    more=ELSEWHERE,
    name_servers=LOCAL_NAME_SERVERS,
    examples=EXAMPLES,
)

RUN_SERVERS = frozenset({"broker"})
"""Nouns that run a server when no command of theirs follows."""

FOUND = 5
"""How `doctor` ends when it found why a group is stuck, and `config diff` when there are differences."""


def is_noun(arguments: Sequence[str]) -> bool:
    """Whether a command line is one of these: its first word is a noun, and the two do not run a server or a
    command that is declared elsewhere."""
    noun, pair = "".join(arguments[:1]), " ".join(arguments[:2])
    if noun not in ABOUT or pair in ELSEWHERE:
        return False
    return noun not in RUN_SERVERS or pair in PLACES
