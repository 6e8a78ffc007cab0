"""Which commands there are, in the order in which the standard lists them."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """The module that has a command, and what the command does."""

    module: str
    about: str


PLACES = {
    "updateTopic": Place("topics", "create a topic, or change it"),
    "updateTopicList": Place("topics", "create or change the topics of a file"),
    "deleteTopic": Place("topics", "delete a topic from brokers and name servers"),
    "updateSubGroup": Place("groups", "create a consumer group, or change it"),
    "updateSubGroupList": Place("groups", "create or change the consumer groups of a file"),
    "setConsumeMode": Place("groups", "let a consumer group pull or pop a topic"),
    "deleteSubGroup": Place(
        "groups", "delete a consumer group; with -c its retry and dead letter topics too"
    ),
    "updateBrokerConfig": Place("brokers", "change a setting of brokers"),
    "updateTopicPerm": Place("topics", "change who may read and write a topic"),
    "topicRoute": Place("topic_views", "the brokers and queues of a topic"),
    "topicStatus": Place("topic_views", "the ends of each queue of a topic, and when its last message came"),
    "topicClusterList": Place("topic_views", "the clusters that have a topic"),
    "addBroker": Place("containers", "start a broker in a container"),
    "removeBroker": Place("containers", "stop a broker of a container"),
    "resetMasterFlushOffset": Place("brokers", "tell a slave how far its master is safe on the disk"),
    "brokerStatus": Place("brokers", "the figures of brokers"),
    "queryMsgById": Place("messages", "the message of an id; or let a consumer consume it, or send it again"),
    "queryMsgByKey": Place("messages", "the messages with a key"),
    "queryMsgByUniqueKey": Place(
        "messages", "the message of the id that its sender gave it; or let a consumer consume it"
    ),
    "queryMsgByOffset": Place("messages", "the message at an offset of a queue"),
    "queryMsgTraceById": Place("tracing", "who sent and consumed a message, as clients traced it"),
    "printMsg": Place("printing", "the messages of a topic"),
    "printMsgByQueue": Place("printing", "the messages of a queue, or how many there are of each tag"),
    "sendMsgStatus": Place(
        "sends", "send messages to the topic of a broker's name, and show how long each takes"
    ),
    "brokerConsumeStats": Place("progress", "how far all groups are at a broker"),
    "producerConnection": Place("clients", "the connections of a producer group"),
    "consumerConnection": Place("clients", "the connections of a consumer group, and what it subscribes to"),
    "consumerProgress": Place(
        "progress", "how far a consumer group is in each queue; without -g, how far behind all groups are"
    ),
    "consumerStatus": Place(
        "members", "what the members of a consumer group are doing; a file each, below the current folder"
    ),
    "cloneGroupOffset": Place("offsets", "let a consumer group go on where another one is"),
    "producer": Place("clients", "all producers that a broker knows"),
    "clusterList": Place("cluster", "the brokers of clusters, and how busy they are"),
    "topicList": Place("topic_views", "all topics"),
    "updateKvConfig": Place("name_servers", "set a key of the name servers"),
    "deleteKvConfig": Place("name_servers", "delete a key of the name servers"),
    "wipeWritePerm": Place(
        "name_servers", "let nobody send to a broker any more, as far as the name servers tell"
    ),
    "addWritePerm": Place("name_servers", "let a broker be sent to again"),
    "resetOffsetByTime": Place(
        "offsets", "let a consumer group go on from a time, or in one queue from an offset"
    ),
    "skipAccumulatedMessage": Place("offsets", "let a consumer group go on after the last message"),
    "updateOrderConf": Place("topics", "show, set or delete on which brokers' queues an ordered topic lies"),
    "cleanExpiredCQ": Place("brokers", "let files of queues go whose messages are gone"),
    "deleteExpiredCommitLog": Place(
        "brokers", "let files of the log go that are old enough, whatever the hour"
    ),
    "cleanUnusedTopic": Place("brokers", "let queues of topics go that are no more"),
    "startMonitoring": Place(
        "monitoring",
        "what groups that are online have not consumed, and what their members complain of, once a minute",
    ),
    "statsAll": Place("progress", "rates of all topics and of the groups that consume them"),
    "allocateMQ": Place("topic_views", "how a group of these members would share the queues of a topic"),
    "checkMsgSendRT": Place(
        "sends", "send messages to the queues of a topic in turn, and show how long each takes"
    ),
    "clusterRT": Place("sends", "send messages to every broker of clusters, and show how long they take"),
    "getNamesrvConfig": Place("name_servers", "all settings of the name servers"),
    "updateNamesrvConfig": Place("name_servers", "change a setting of the name servers"),
    "getBrokerConfig": Place("brokers", "all settings of brokers"),
    "getConsumerConfig": Place("groups", "how a consumer group is configured at each broker"),
    "queryCq": Place("messages", "entries of a queue, and what a group's subscription makes of them"),
    "sendMessage": Place("sends", "send a message"),
    "consumeMessage": Place("printing", "read messages of a topic, or of one of its queues"),
    "updateStaticTopic": Place("static_topics", "create a static topic, or give it more queues"),
    "remappingStaticTopic": Place("static_topics", "move the queues of a static topic to other brokers"),
    "exportMetadata": Place(
        "exports", "write the topics and consumer groups of a broker or cluster into a file"
    ),
    "exportConfigs": Place("exports", "write the most important settings of a cluster's brokers into a file"),
    "exportMetrics": Place("exports", "write how busy the brokers of a cluster are into a file"),
    "exportMetadataInRocksDB": Place(
        "rocksdb", "show topics or groups in the files of RocksDB; rocksDBConfigToJson asks a broker for them"
    ),
    "exportPopRecord": Place(
        "exports", "let brokers bring check points of pops from a database back into the log"
    ),
    "haStatus": Place("replication", "how far slaves follow their masters"),
    "getSyncStateSet": Place("controllers", "the replicas of broker groups, and which are in sync"),
    "getBrokerEpoch": Place("controllers", "which part of a broker's log was written under which master"),
    "getControllerMetaData": Place("controllers", "the controllers, and which of them leads"),
    "getControllerConfig": Place("controllers", "all settings of controllers"),
    "updateControllerConfig": Place("controllers", "change a setting of controllers"),
    "electMaster": Place("controllers", "make a replica the master of its group"),
    "cleanBrokerMetadata": Place("controllers", "let controllers forget replicas of a group"),
    "dumpCompactionLog": Place("compaction", "the messages of a file of a compacted topic"),
    "getColdDataFlowCtrInfo": Place("cold_data", "who reads how much old data"),
    "updateColdDataFlowCtrGroupConfig": Place("cold_data", "limit how much old data a consumer group reads"),
    "removeColdDataFlowCtrGroupConfig": Place(
        "cold_data", "limit a consumer group's reads of old data no more than those of others"
    ),
    "setCommitLogReadAheadMode": Place("cold_data", "let the log be read ahead, or not"),
    "createUser": Place("access", "create a user"),
    "updateUser": Place("access", "change the password, type or status of a user"),
    "deleteUser": Place("access", "delete a user"),
    "getUser": Place("access", "a user"),
    "listUser": Place("access", "the users"),
    "copyUser": Place("access", "copy users from one broker to another"),
    "createAcl": Place("access", "create a policy"),
    "updateAcl": Place("access", "change a policy"),
    "deleteAcl": Place("access", "delete the policies of a subject, or those for one resource"),
    "getAcl": Place("access", "the policies of a subject"),
    "listAcl": Place("access", "the policies"),
    "copyAcl": Place("access", "copy policies from one broker to another"),
    "rocksDBConfigToJson": Place(
        "rocksdb", "have brokers write what they keep in RocksDB as JSON, beside their other files"
    ),
    "checkRocksdbCqWriteProgress": Place(
        "rocksdb", "have brokers compare their queues in RocksDB with those in files"
    ),
    "switchTimerEngine": Place("brokers", "let brokers keep timers in files or in a database"),
    "getBrokerLiteInfo": Place("lite", "how many lite topics brokers have, and of which parents"),
    "getParentTopicInfo": Place("lite", "a parent topic at each broker"),
    "getLiteTopicInfo": Place("lite", "a lite topic at each broker, and who reads it"),
    "getLiteClientInfo": Place("lite", "what a client subscribes to at each broker"),
    "getLiteGroupInfo": Place(
        "lite", "how far a consumer group is behind: in one lite topic, or in those where it is worst"
    ),
    "triggerLiteDispatch": Place("lite", "tell clients of all messages that wait for them"),
}
"""A module is loaded when one of its commands is called: a list of all of them needs none."""
