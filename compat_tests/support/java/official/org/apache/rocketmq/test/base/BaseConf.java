package org.apache.rocketmq.test.base;

import static org.awaitility.Awaitility.await;

import compat.official.Cluster;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.client.consumer.MQPullConsumer;
import org.apache.rocketmq.client.consumer.MQPushConsumer;
import org.apache.rocketmq.client.producer.MQProducer;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.attribute.CQType;
import org.apache.rocketmq.common.attribute.TopicMessageType;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.test.client.rmq.RMQAsyncSendProducer;
import org.apache.rocketmq.test.client.rmq.RMQNormalConsumer;
import org.apache.rocketmq.test.client.rmq.RMQNormalProducer;
import org.apache.rocketmq.test.client.rmq.RMQTransactionalProducer;
import org.apache.rocketmq.test.clientinterface.AbstractMQConsumer;
import org.apache.rocketmq.test.clientinterface.AbstractMQProducer;
import org.apache.rocketmq.test.clientinterface.MQConsumer;
import org.apache.rocketmq.test.factory.ConsumerFactory;
import org.apache.rocketmq.test.listener.AbstractListener;
import org.apache.rocketmq.test.util.MQAdminTestUtils;
import org.apache.rocketmq.test.util.MQRandomUtils;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.apache.rocketmq.tools.admin.MQAdminExt;

/** Stands where the official class of this name stands; what the tests inherit, with servers from outside. */
public class BaseConf {
    public static final String NAMESRV_ADDR = Cluster.NAME_SERVER;

    protected static final String CLUSTER_NAME = Cluster.NAME;
    protected static final String BROKER1_NAME;
    protected static final String BROKER2_NAME;
    protected static final String BROKER3_NAME;

    protected static final int BROKER_NUM = 3;
    protected static final int WAIT_TIME = 5;
    protected static final int CONSUME_TIME = 2 * 60 * 1000;
    protected static final int QUEUE_NUMBERS = 8;

    protected static NamesrvController namesrvController;
    protected static BrokerController brokerController1;
    protected static BrokerController brokerController2;
    protected static BrokerController brokerController3;
    protected static List<BrokerController> brokerControllerList = new ArrayList<>();
    protected static Map<String, BrokerController> brokerControllerMap = new HashMap<>();

    protected static List<Object> mqClients = new ArrayList<>();
    protected static boolean debug = false;

    static {
        System.setProperty(RemotingCommand.REMOTING_VERSION_KEY, Integer.toString(MQVersion.CURRENT_VERSION));
        namesrvController = IntegrationTestBase.createAndStartNamesrv();
        for (int i = 0; i < BROKER_NUM; i++) {
            BrokerController broker = IntegrationTestBase.createAndStartBroker(NAMESRV_ADDR);
            brokerControllerList.add(broker);
            brokerControllerMap.put(Cluster.BROKERS.get(i), broker);
        }
        brokerController1 = brokerControllerList.get(0);
        brokerController2 = brokerControllerList.get(1);
        brokerController3 = brokerControllerList.get(2);
        BROKER1_NAME = Cluster.BROKERS.get(0);
        BROKER2_NAME = Cluster.BROKERS.get(1);
        BROKER3_NAME = Cluster.BROKERS.get(2);
        IntegrationTestBase.initMQAdmin(NAMESRV_ADDR);
    }

    public BaseConf() {
        waitBrokerRegistered(NAMESRV_ADDR, CLUSTER_NAME, (int) Cluster.BROKERS.stream().distinct().count());
    }

    public static void waitBrokerRegistered(String nameServer, String cluster, int brokers) {
        await().atMost(30, TimeUnit.SECONDS).ignoreExceptions().until(() ->
                Cluster.admin().examineTopicRouteInfo(cluster).getBrokerDatas().size() == brokers);
    }

    public boolean awaitDispatchMs(long millis) throws Exception {
        long end = System.currentTimeMillis() + millis;
        while (System.currentTimeMillis() <= end) {
            boolean behind = false;
            for (BrokerController broker : brokerControllerList) {
                behind |= broker.getMessageStore().dispatchBehindBytes() != 0;
            }
            if (!behind) {
                return true;
            }
            Thread.sleep(100);
        }
        return false;
    }

    public static String initTopic() {
        return initTopicWithName(MQRandomUtils.getRandomTopic());
    }

    public static String initTopic(TopicMessageType type) {
        return initTopicWithName(MQRandomUtils.getRandomTopic(), type);
    }

    public static String initTopicOnSampleTopicBroker(String sample) {
        return initTopicOnSampleTopicBroker(MQRandomUtils.getRandomTopic(), sample);
    }

    public static String initTopicOnSampleTopicBroker(String sample, TopicMessageType type) {
        return initTopicOnSampleTopicBroker(MQRandomUtils.getRandomTopic(), sample, type);
    }

    public static String initTopicWithName(String topic) {
        return initTopicOnSampleTopicBroker(topic, CLUSTER_NAME);
    }

    public static String initTopicWithName(String topic, TopicMessageType type) {
        return initTopicOnSampleTopicBroker(topic, CLUSTER_NAME, type);
    }

    public static String initTopicOnSampleTopicBroker(String topic, String sample) {
        IntegrationTestBase.initTopic(topic, NAMESRV_ADDR, sample, CQType.SimpleCQ);
        return topic;
    }

    public static String initTopicOnSampleTopicBroker(String topic, String sample, TopicMessageType type) {
        IntegrationTestBase.initTopic(topic, NAMESRV_ADDR, sample, type);
        return topic;
    }

    public static String initConsumerGroup() {
        return initConsumerGroup(MQRandomUtils.getRandomConsumerGroup());
    }

    public static String initConsumerGroup(String group) {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        return initConsumerGroup(config);
    }

    public static String initConsumerGroup(SubscriptionGroupConfig config) {
        MQAdminTestUtils.createSub(NAMESRV_ADDR, CLUSTER_NAME, config);
        return config.getGroupName();
    }

    public static DefaultMQAdminExt getAdmin(String nameServer) {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(3_000);
        admin.setNamesrvAddr(nameServer);
        admin.setPollNameServerInterval(100);
        mqClients.add(admin);
        return admin;
    }

    public static RMQNormalProducer getProducer(String nameServer, String topic) {
        return getProducer(nameServer, topic, false);
    }

    public static RMQNormalProducer getProducer(String nameServer, String topic, boolean tls) {
        return kept(new RMQNormalProducer(nameServer, topic, tls));
    }

    public static RMQNormalProducer getProducer(String nameServer, String topic, String group, String instance) {
        return kept(new RMQNormalProducer(nameServer, topic, group, instance));
    }

    public static RMQTransactionalProducer getTransactionalProducer(
            String nameServer, String topic, TransactionListener listener) {
        return kept(new RMQTransactionalProducer(nameServer, topic, false, listener));
    }

    public static RMQAsyncSendProducer getAsyncProducer(String nameServer, String topic) {
        return kept(new RMQAsyncSendProducer(nameServer, topic));
    }

    public static RMQNormalConsumer getConsumer(
            String nameServer, String topic, String tags, AbstractListener listener) {
        return getConsumer(nameServer, topic, tags, listener, false);
    }

    public static RMQNormalConsumer getConsumer(
            String nameServer, String topic, String tags, AbstractListener listener, boolean tls) {
        return getConsumer(nameServer, initConsumerGroup(), topic, tags, listener, tls);
    }

    public static RMQNormalConsumer getConsumer(
            String nameServer, String group, String topic, String tags, AbstractListener listener) {
        return getConsumer(nameServer, group, topic, tags, listener, false);
    }

    public static RMQNormalConsumer getConsumer(
            String nameServer, String group, String topic, String tags, AbstractListener listener, boolean tls) {
        RMQNormalConsumer consumer =
                ConsumerFactory.getRMQNormalConsumer(nameServer, group, topic, tags, listener, tls);
        mqClients.add(consumer);
        return consumer;
    }

    public static void shutdown() {
        List<Object> clients = new ArrayList<>(mqClients);
        mqClients.clear();
        shutdown(clients);
    }

    public static Set<String> getBrokers() {
        return new HashSet<>(Cluster.BROKERS);
    }

    public static void shutdown(List<Object> clients) {
        clients.forEach(client -> ForkJoinPool.commonPool().execute(() -> shutDown(client)));
    }

    private static <T extends AbstractMQProducer> T kept(T producer) {
        mqClients.add(producer);
        return producer;
    }

    private static void shutDown(Object client) {
        if (client instanceof AbstractMQProducer) {
            ((AbstractMQProducer) client).shutdown();
        } else if (client instanceof AbstractMQConsumer) {
            ((AbstractMQConsumer) client).shutdown();
        } else if (client instanceof MQAdminExt) {
            ((MQAdminExt) client).shutdown();
        } else if (client instanceof MQProducer) {
            ((MQProducer) client).shutdown();
        } else if (client instanceof MQPullConsumer) {
            ((MQPullConsumer) client).shutdown();
        } else if (client instanceof MQPushConsumer) {
            ((MQPushConsumer) client).shutdown();
        } else if (client instanceof MQConsumer) {
            ((MQConsumer) client).shutdown();
        }
    }
}
