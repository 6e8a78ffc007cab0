package org.apache.rocketmq.test.base;

import compat.official.Cluster;
import compat.official.LookAlikes;
import java.io.File;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicAttributes;
import org.apache.rocketmq.common.attribute.CQType;
import org.apache.rocketmq.common.attribute.TopicMessageType;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.test.util.MQAdminTestUtils;

/** Stands where the official class of this name stands, and starts nothing: the servers run outside. */
public class IntegrationTestBase {
    private static final int TOPIC_SECONDS = 30;
    private static int given;

    public static String createBaseDir() {
        return Paths.get(System.getProperty("java.io.tmpdir"), "official-" + UUID.randomUUID()).toString();
    }

    public static NamesrvController createAndStartNamesrv() {
        return LookAlikes.nameServer();
    }

    /** The next broker of the cluster, which runs already. */
    public static synchronized BrokerController createAndStartBroker(String nameServer) {
        return LookAlikes.broker(Cluster.BROKERS.get(given++));
    }

    public static BrokerController createAndStartBroker(MessageStoreConfig store, BrokerConfig broker) {
        throw LookAlikes.onlyInside("starting a broker with settings of its own");
    }

    public static void createAndStartProxy(String nameServer) {
        throw LookAlikes.onlyInside("starting a proxy");
    }

    public static boolean initTopic(String topic, String nameServer, String cluster, CQType queueType) {
        return initTopic(topic, nameServer, cluster, BaseConf.QUEUE_NUMBERS, queueType);
    }

    public static boolean initTopic(String topic, String nameServer, String cluster, TopicMessageType type) {
        return initTopic(topic, nameServer, cluster, BaseConf.QUEUE_NUMBERS, CQType.SimpleCQ, type);
    }

    public static boolean initTopic(
            String topic, String nameServer, String cluster, int queues, CQType queueType) {
        return initTopic(topic, nameServer, cluster, queues, queueType, TopicMessageType.NORMAL);
    }

    public static boolean initTopic(
            String topic, String nameServer, String cluster, int queues, CQType queueType, TopicMessageType type) {
        return initTopic(topic, nameServer, cluster, queues, queueType, type, null);
    }

    public static boolean initTopic(
            String topic,
            String nameServer,
            String cluster,
            int queues,
            CQType queueType,
            TopicMessageType type,
            Long reserveMillis) {
        Map<String, String> attributes = new HashMap<>();
        if (queueType != CQType.SimpleCQ) {
            attributes.put("+" + TopicAttributes.QUEUE_TYPE_ATTRIBUTE.getName(), queueType.toString());
        }
        if (type != TopicMessageType.NORMAL) {
            attributes.put("+" + TopicAttributes.TOPIC_MESSAGE_TYPE_ATTRIBUTE.getName(), type.toString());
        }
        if (reserveMillis != null) {
            attributes.put("+" + TopicAttributes.TOPIC_RESERVE_TIME_ATTRIBUTE.getName(), reserveMillis.toString());
        }
        return MQAdminTestUtils.createTopic(nameServer, cluster, topic, queues, attributes, TOPIC_SECONDS);
    }

    public static void deleteFile(File file) {
        throw LookAlikes.onlyInside("files of the broker");
    }

    public static void initMQAdmin(String nameServer) {
        try {
            MQAdminTestUtils.startAdmin(nameServer);
        } catch (MQClientException e) {
            throw new IllegalStateException(e);
        }
    }
}
