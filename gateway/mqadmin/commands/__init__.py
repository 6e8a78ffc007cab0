"""Table of all commands, in RocketMQ's order."""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """The module that defines a command, and the command's description."""

    module: str
    about: str


PLACES = {
    "updateTopic": CommandEntry("topics", "create or change a topic"),
    "updateTopicList": CommandEntry("topics", "create or change all topics in a file"),
    "deleteTopic": CommandEntry("topics", "delete a topic from brokers and name servers"),
    "updateSubGroup": CommandEntry("groups", "create or change a consumer group"),
    "updateSubGroupList": CommandEntry("groups", "create or change all consumer groups in a file"),
    "setConsumeMode": CommandEntry(
        "groups", "set the consumption mode of a consumer group in a topic: PULL or POP"
    ),
    "deleteSubGroup": CommandEntry(
        "groups", "delete a consumer group; with -c also its retry and dead-letter topics"
    ),
    "updateBrokerConfig": CommandEntry("brokers", "change a setting of brokers"),
    "updateTopicPerm": CommandEntry("topics", "change the permission of a topic"),
    "topicRoute": CommandEntry("topic_views", "show the brokers and queues of a topic"),
    "topicStatus": CommandEntry(
        "topic_views", "show the minimum and maximum offset and the last store time of each queue of a topic"
    ),
    "topicClusterList": CommandEntry("topic_views", "show the clusters of a topic"),
    "addBroker": CommandEntry("containers", "start a broker in a container"),
    "removeBroker": CommandEntry("containers", "stop a broker in a container"),
    "resetMasterFlushOffset": CommandEntry(
        "brokers", "set the flushed offset of the master that a slave knows"
    ),
    "brokerStatus": CommandEntry("brokers", "show the runtime statistics of brokers"),
    "queryMsgById": CommandEntry(
        "messages", "show a message by id; or have a consumer consume it, or send it again"
    ),
    "queryMsgByKey": CommandEntry("messages", "show the messages with a key"),
    "queryMsgByUniqueKey": CommandEntry(
        "messages", "show a message by unique key; or have a consumer consume it"
    ),
    "queryMsgByOffset": CommandEntry("messages", "show the message at an offset of a queue"),
    "queryMsgTraceById": CommandEntry("tracing", "show the trace of a message: its producer and consumers"),
    "printMsg": CommandEntry("printing", "print the messages of a topic"),
    "printMsgByQueue": CommandEntry("printing", "print the messages of a queue, or count them by tag"),
    "sendMsgStatus": CommandEntry(
        "sends", "send messages to the topic named like a broker, and show the latency of each"
    ),
    "brokerConsumeStats": CommandEntry("progress", "show the offsets and lag of all groups at a broker"),
    "producerConnection": CommandEntry("clients", "show the connections of a producer group"),
    "consumerConnection": CommandEntry(
        "clients", "show the connections and subscriptions of a consumer group"
    ),
    "consumerProgress": CommandEntry(
        "progress",
        "show the offset and lag of a consumer group in each queue; without -g, the lag of all groups",
    ),
    "consumerStatus": CommandEntry(
        "members",
        "write the running state of each member of a consumer group to a file in the current folder",
    ),
    "cloneGroupOffset": CommandEntry("offsets", "copy the offsets of one consumer group to another"),
    "producer": CommandEntry("clients", "list all producers of a broker"),
    "clusterList": CommandEntry("cluster", "list the brokers of all clusters with their load"),
    "topicList": CommandEntry("topic_views", "list all topics"),
    "updateKvConfig": CommandEntry("name_servers", "set a key in the key-value table of the name servers"),
    "deleteKvConfig": CommandEntry(
        "name_servers", "delete a key from the key-value table of the name servers"
    ),
    "wipeWritePerm": CommandEntry(
        "name_servers", "remove the write permission of a broker at the name servers"
    ),
    "addWritePerm": CommandEntry(
        "name_servers", "restore the write permission of a broker at the name servers"
    ),
    "resetOffsetByTime": CommandEntry(
        "offsets", "reset the offsets of a consumer group to a time, or of one queue to an offset"
    ),
    "skipAccumulatedMessage": CommandEntry(
        "offsets", "move a consumer group to the end of its topics, skipping all messages"
    ),
    "updateOrderConf": CommandEntry("topics", "show, set or delete the order configuration of a topic"),
    "cleanExpiredCQ": CommandEntry("brokers", "delete consume queue files whose messages are deleted"),
    "deleteExpiredCommitLog": CommandEntry("brokers", "delete expired files of the commit log now"),
    "cleanUnusedTopic": CommandEntry("brokers", "delete the consume queues of deleted topics"),
    "startMonitoring": CommandEntry(
        "monitoring",
        "report lag and problems of connected consumer groups once a minute",
    ),
    "statsAll": CommandEntry("progress", "show the rates of all topics and of their consumer groups"),
    "allocateMQ": CommandEntry(
        "topic_views", "show the queues of a topic that each of these members would be assigned"
    ),
    "checkMsgSendRT": CommandEntry(
        "sends", "send messages to the queues of a topic in turn, and show the latency of each"
    ),
    "clusterRT": CommandEntry("sends", "send messages to every broker of all clusters, and show the latency"),
    "getNamesrvConfig": CommandEntry("name_servers", "show all settings of the name servers"),
    "updateNamesrvConfig": CommandEntry("name_servers", "change a setting of the name servers"),
    "getBrokerConfig": CommandEntry("brokers", "show all settings of brokers"),
    "getConsumerConfig": CommandEntry("groups", "show the configuration of a consumer group at each broker"),
    "queryCq": CommandEntry(
        "messages", "show entries of a consume queue, and whether a group's subscription selects them"
    ),
    "sendMessage": CommandEntry("sends", "send a message"),
    "consumeMessage": CommandEntry("printing", "read messages of a topic or of one queue"),
    "updateStaticTopic": CommandEntry("static_topics", "create a static topic, or add queues to it"),
    "remappingStaticTopic": CommandEntry(
        "static_topics", "move the queues of a static topic to other brokers"
    ),
    "exportMetadata": CommandEntry(
        "exports", "write the topics and consumer groups of a broker or cluster to a file"
    ),
    "exportConfigs": CommandEntry(
        "exports", "write the most important settings of a cluster's brokers to a file"
    ),
    "exportMetrics": CommandEntry("exports", "write the load of a cluster's brokers to a file"),
    "exportMetadataInRocksDB": CommandEntry(
        "rocksdb", "show topics or groups in RocksDB files; rocksDBConfigToJson reads them through a broker"
    ),
    "exportPopRecord": CommandEntry(
        "exports", "have brokers move POP checkpoints from RocksDB back to the log"
    ),
    "haStatus": CommandEntry("replication", "show the replication state of masters and slaves"),
    "getSyncStateSet": CommandEntry("controllers", "show the replicas of broker sets and their in-sync sets"),
    "getBrokerEpoch": CommandEntry(
        "controllers", "show the epochs of a broker's log: the ranges written under each master"
    ),
    "getControllerMetaData": CommandEntry("controllers", "show the controllers and their leader"),
    "getControllerConfig": CommandEntry("controllers", "show all settings of controllers"),
    "updateControllerConfig": CommandEntry("controllers", "change a setting of controllers"),
    "electMaster": CommandEntry("controllers", "make a replica the master of its broker set"),
    "cleanBrokerMetadata": CommandEntry(
        "controllers", "remove replicas of a broker set from the controllers"
    ),
    "dumpCompactionLog": CommandEntry("compaction", "print the messages in a file of a compacted topic"),
    "getColdDataFlowCtrInfo": CommandEntry(
        "cold_data", "show the bytes of cold data that each consumer group reads"
    ),
    "updateColdDataFlowCtrGroupConfig": CommandEntry(
        "cold_data", "set the cold-read threshold of a consumer group"
    ),
    "removeColdDataFlowCtrGroupConfig": CommandEntry(
        "cold_data", "remove the cold-read threshold of a consumer group"
    ),
    "setCommitLogReadAheadMode": CommandEntry("cold_data", "enable or disable read-ahead of the commit log"),
    "createUser": CommandEntry("access", "create a user"),
    "updateUser": CommandEntry("access", "change the password, type or status of a user"),
    "deleteUser": CommandEntry("access", "delete a user"),
    "getUser": CommandEntry("access", "show a user"),
    "listUser": CommandEntry("access", "list the users"),
    "copyUser": CommandEntry("access", "copy users from one broker to another"),
    "createAcl": CommandEntry("access", "create a policy"),
    "updateAcl": CommandEntry("access", "change a policy"),
    "deleteAcl": CommandEntry("access", "delete all policies of a subject, or the one for a resource"),
    "getAcl": CommandEntry("access", "show the policies of a subject"),
    "listAcl": CommandEntry("access", "list the policies"),
    "copyAcl": CommandEntry("access", "copy policies from one broker to another"),
    "rocksDBConfigToJson": CommandEntry("rocksdb", "have brokers export their RocksDB tables as JSON files"),
    "checkRocksdbCqWriteProgress": CommandEntry(
        "rocksdb", "have brokers compare their consume queues in RocksDB with those in files"
    ),
    "switchTimerEngine": CommandEntry(
        "brokers", "switch the timer engine of brokers between files and RocksDB"
    ),
    "getBrokerLiteInfo": CommandEntry("lite", "show the numbers of lite topics of brokers, by parent topic"),
    "getParentTopicInfo": CommandEntry("lite", "show a parent topic of lite topics at each broker"),
    "getLiteTopicInfo": CommandEntry("lite", "show a lite topic and its subscribers at each broker"),
    "getLiteClientInfo": CommandEntry(
        "lite", "show the lite topics that a client subscribes to at each broker"
    ),
    "getLiteGroupInfo": CommandEntry(
        "lite",
        ("show the lag of a consumer group in one lite topic, or in the lite topics with the largest lag"),
    ),
    "triggerLiteDispatch": CommandEntry("lite", "notify clients of all pending messages of lite topics"),
}
"""Commands by name. A module is loaded if one of its commands is called; the list of commands loads none."""
