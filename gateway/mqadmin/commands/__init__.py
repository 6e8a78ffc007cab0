"""Which commands there are, in the order in which the standard lists them."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """The module that has a command, and what the command does."""

    module: str
    about: str


PLACES = {
    "updateTopic": Place("topics", "create or change a topic"),
    "updateTopicList": Place("topics", "create or change all topics in a file"),
    "deleteTopic": Place("topics", "delete a topic from brokers and name servers"),
    "updateSubGroup": Place("groups", "create or change a consumer group"),
    "updateSubGroupList": Place("groups", "create or change all consumer groups in a file"),
    "setConsumeMode": Place("groups", "set the consumption mode of a consumer group in a topic: PULL or POP"),
    "deleteSubGroup": Place(
        "groups", "delete a consumer group; with -c also its retry and dead-letter topics"
    ),
    "updateBrokerConfig": Place("brokers", "change a setting of brokers"),
    "updateTopicPerm": Place("topics", "change the permission of a topic"),
    "topicRoute": Place("topic_views", "show the brokers and queues of a topic"),
    "topicStatus": Place(
        "topic_views", "show the minimum and maximum offset and the last store time of each queue of a topic"
    ),
    "topicClusterList": Place("topic_views", "show the clusters of a topic"),
    "addBroker": Place("containers", "start a broker in a container"),
    "removeBroker": Place("containers", "stop a broker in a container"),
    "resetMasterFlushOffset": Place("brokers", "set the flushed offset of the master that a slave knows"),
    "brokerStatus": Place("brokers", "show the runtime statistics of brokers"),
    "queryMsgById": Place(
        "messages", "show a message by id; or have a consumer consume it, or send it again"
    ),
    "queryMsgByKey": Place("messages", "show the messages with a key"),
    "queryMsgByUniqueKey": Place("messages", "show a message by unique key; or have a consumer consume it"),
    "queryMsgByOffset": Place("messages", "show the message at an offset of a queue"),
    "queryMsgTraceById": Place("tracing", "show the trace of a message: its producer and consumers"),
    "printMsg": Place("printing", "print the messages of a topic"),
    "printMsgByQueue": Place("printing", "print the messages of a queue, or count them by tag"),
    "sendMsgStatus": Place(
        "sends", "send messages to the topic named like a broker, and show the latency of each"
    ),
    "brokerConsumeStats": Place("progress", "show the offsets and lag of all groups at a broker"),
    "producerConnection": Place("clients", "show the connections of a producer group"),
    "consumerConnection": Place("clients", "show the connections and subscriptions of a consumer group"),
    "consumerProgress": Place(
        "progress",
        "show the offset and lag of a consumer group in each queue; without -g, the lag of all groups",
    ),
    "consumerStatus": Place(
        "members",
        "write the running state of each member of a consumer group to a file in the current folder",
    ),
    "cloneGroupOffset": Place("offsets", "copy the offsets of one consumer group to another"),
    "producer": Place("clients", "list all producers of a broker"),
    "clusterList": Place("cluster", "list the brokers of all clusters with their load"),
    "topicList": Place("topic_views", "list all topics"),
    "updateKvConfig": Place("name_servers", "set a key in the key-value table of the name servers"),
    "deleteKvConfig": Place("name_servers", "delete a key from the key-value table of the name servers"),
    "wipeWritePerm": Place("name_servers", "remove the write permission of a broker at the name servers"),
    "addWritePerm": Place("name_servers", "restore the write permission of a broker at the name servers"),
    "resetOffsetByTime": Place(
        "offsets", "reset the offsets of a consumer group to a time, or of one queue to an offset"
    ),
    "skipAccumulatedMessage": Place(
        "offsets", "move a consumer group to the end of its topics, skipping all messages"
    ),
    "updateOrderConf": Place("topics", "show, set or delete the order configuration of a topic"),
    "cleanExpiredCQ": Place("brokers", "delete consume queue files whose messages are deleted"),
    "deleteExpiredCommitLog": Place("brokers", "delete expired files of the commit log now"),
    "cleanUnusedTopic": Place("brokers", "delete the consume queues of deleted topics"),
    "startMonitoring": Place(
        "monitoring",
        "report lag and problems of connected consumer groups once a minute",
    ),
    "statsAll": Place("progress", "show the rates of all topics and of their consumer groups"),
    "allocateMQ": Place(
        "topic_views", "show the queues of a topic that each of these members would be assigned"
    ),
    "checkMsgSendRT": Place(
        "sends", "send messages to the queues of a topic in turn, and show the latency of each"
    ),
    "clusterRT": Place("sends", "send messages to every broker of all clusters, and show the latency"),
    "getNamesrvConfig": Place("name_servers", "show all settings of the name servers"),
    "updateNamesrvConfig": Place("name_servers", "change a setting of the name servers"),
    "getBrokerConfig": Place("brokers", "show all settings of brokers"),
    "getConsumerConfig": Place("groups", "show the configuration of a consumer group at each broker"),
    "queryCq": Place(
        "messages", "show entries of a consume queue, and whether a group's subscription selects them"
    ),
    "sendMessage": Place("sends", "send a message"),
    "consumeMessage": Place("printing", "read messages of a topic or of one queue"),
    "updateStaticTopic": Place("static_topics", "create a static topic, or add queues to it"),
    "remappingStaticTopic": Place("static_topics", "move the queues of a static topic to other brokers"),
    "exportMetadata": Place(
        "exports", "write the topics and consumer groups of a broker or cluster to a file"
    ),
    "exportConfigs": Place("exports", "write the most important settings of a cluster's brokers to a file"),
    "exportMetrics": Place("exports", "write the load of a cluster's brokers to a file"),
    "exportMetadataInRocksDB": Place(
        "rocksdb", "show topics or groups in RocksDB files; rocksDBConfigToJson reads them through a broker"
    ),
    "exportPopRecord": Place("exports", "have brokers move POP checkpoints from RocksDB back to the log"),
    "haStatus": Place("replication", "show the replication state of masters and slaves"),
    "getSyncStateSet": Place("controllers", "show the replicas of broker sets and their in-sync sets"),
    "getBrokerEpoch": Place(
        "controllers", "show the epochs of a broker's log: the ranges written under each master"
    ),
    "getControllerMetaData": Place("controllers", "show the controllers and their leader"),
    "getControllerConfig": Place("controllers", "show all settings of controllers"),
    "updateControllerConfig": Place("controllers", "change a setting of controllers"),
    "electMaster": Place("controllers", "make a replica the master of its broker set"),
    "cleanBrokerMetadata": Place("controllers", "remove replicas of a broker set from the controllers"),
    "dumpCompactionLog": Place("compaction", "print the messages in a file of a compacted topic"),
    "getColdDataFlowCtrInfo": Place(
        "cold_data", "show the bytes of cold data that each consumer group reads"
    ),
    "updateColdDataFlowCtrGroupConfig": Place("cold_data", "set the cold-read threshold of a consumer group"),
    "removeColdDataFlowCtrGroupConfig": Place(
        "cold_data", "remove the cold-read threshold of a consumer group"
    ),
    "setCommitLogReadAheadMode": Place("cold_data", "enable or disable read-ahead of the commit log"),
    "createUser": Place("access", "create a user"),
    "updateUser": Place("access", "change the password, type or status of a user"),
    "deleteUser": Place("access", "delete a user"),
    "getUser": Place("access", "show a user"),
    "listUser": Place("access", "list the users"),
    "copyUser": Place("access", "copy users from one broker to another"),
    "createAcl": Place("access", "create a policy"),
    "updateAcl": Place("access", "change a policy"),
    "deleteAcl": Place("access", "delete all policies of a subject, or the one for a resource"),
    "getAcl": Place("access", "show the policies of a subject"),
    "listAcl": Place("access", "list the policies"),
    "copyAcl": Place("access", "copy policies from one broker to another"),
    "rocksDBConfigToJson": Place("rocksdb", "have brokers export their RocksDB tables as JSON files"),
    "checkRocksdbCqWriteProgress": Place(
        "rocksdb", "have brokers compare their consume queues in RocksDB with those in files"
    ),
    "switchTimerEngine": Place("brokers", "switch the timer engine of brokers between files and RocksDB"),
    "getBrokerLiteInfo": Place("lite", "show the numbers of lite topics of brokers, by parent topic"),
    "getParentTopicInfo": Place("lite", "show a parent topic of lite topics at each broker"),
    "getLiteTopicInfo": Place("lite", "show a lite topic and its subscribers at each broker"),
    "getLiteClientInfo": Place("lite", "show the lite topics that a client subscribes to at each broker"),
    "getLiteGroupInfo": Place(
        "lite",
        ("show the lag of a consumer group in one lite topic, or in the lite topics with the largest lag"),
    ),
    "triggerLiteDispatch": Place("lite", "notify clients of all pending messages of lite topics"),
}
"""A module is loaded when one of its commands is called: a list of all of them needs none."""
