package compat.official;

import static org.mockito.Mockito.mock;

import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.offset.ConsumerOffsetManager;
import org.apache.rocketmq.broker.subscription.SubscriptionGroupManager;
import org.apache.rocketmq.broker.topic.TopicConfigManager;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.junit.AssumptionViolatedException;
import org.mockito.invocation.InvocationOnMock;

/**
 * Controllers of servers that run outside. What a test does with one becomes a request to the server; what no
 * request can do ends the test as one that needs the server in its own process.
 */
public final class LookAlikes {
    private static final String READABLE_AND_WRITABLE = "6";

    private interface Call {
        Object run(Object[] arguments) throws Exception;
    }

    private LookAlikes() {
    }

    /** What to throw when a test cannot go on without a server in its own process. */
    public static AssumptionViolatedException onlyInside(String what) {
        return new AssumptionViolatedException("needs the server in the test's process: " + what);
    }

    public static NamesrvController nameServer() {
        NamesrvConfig config = settings(NamesrvConfig.class, new NamesrvConfig(), "");
        Map<String, Call> calls = new HashMap<>();
        calls.put("getNamesrvConfig", arguments -> config);
        return look(NamesrvController.class, calls);
    }

    public static BrokerController broker(String name) {
        String address = Cluster.address(name);
        BrokerConfig real = new BrokerConfig();
        real.setBrokerName(name);
        real.setBrokerClusterName(Cluster.NAME);
        BrokerConfig config = settings(BrokerConfig.class, real, address);
        MessageStoreConfig storeConfig = settings(MessageStoreConfig.class, new MessageStoreConfig(), address);
        DefaultMessageStore store = store(name, address);
        TopicConfigManager topics = topics(address);
        SubscriptionGroupManager groups = groups(address);
        ConsumerOffsetManager offsets = offsets(name, address);

        Map<String, Call> calls = new HashMap<>();
        calls.put("getBrokerAddr", arguments -> address);
        calls.put("getBrokerConfig", arguments -> config);
        calls.put("getMessageStoreConfig", arguments -> storeConfig);
        calls.put("getMessageStore", arguments -> store);
        calls.put("getTopicConfigManager", arguments -> topics);
        calls.put("getSubscriptionGroupManager", arguments -> groups);
        calls.put("getConsumerOffsetManager", arguments -> offsets);
        calls.put("registerBrokerAll", arguments -> {
            // A broker registers at once when its permission is set.
            Settings.of(address).tell("brokerPermission", READABLE_AND_WRITABLE);
            return null;
        });
        return look(BrokerController.class, calls);
    }

    private static DefaultMessageStore store(String name, String address) {
        Map<String, Call> calls = new HashMap<>();
        calls.put("getMinOffsetInQueue", arguments ->
                Cluster.api().getMinOffset(address, queue(name, arguments), Cluster.TIMEOUT));
        calls.put("getMaxOffsetInQueue", arguments ->
                Cluster.api().getMaxOffset(address, queue(name, arguments), Cluster.TIMEOUT));
        calls.put("dispatchBehindBytes", arguments -> {
            Map<String, String> now = Cluster.admin().fetchBrokerRuntimeStats(address).getTable();
            return Long.parseLong(now.getOrDefault("dispatchBehindBytes", "0"));
        });
        return look(DefaultMessageStore.class, calls);
    }

    private static TopicConfigManager topics(String address) {
        Map<String, Call> calls = new HashMap<>();
        calls.put("getTopicConfigTable", arguments ->
                Cluster.admin().getAllTopicConfig(address, Cluster.TIMEOUT).getTopicConfigTable());
        calls.put("updateTopicConfig", arguments -> {
            Cluster.admin().createAndUpdateTopicConfig(address, (TopicConfig) arguments[0]);
            return null;
        });
        return look(TopicConfigManager.class, calls);
    }

    private static SubscriptionGroupManager groups(String address) {
        Map<String, Call> calls = new HashMap<>();
        calls.put("findSubscriptionGroupConfig", arguments -> {
            SubscriptionGroupConfig config = null;
            try {
                config = Cluster.admin().examineSubscriptionGroupConfig(address, (String) arguments[0]);
            } catch (MQBrokerException unknown) {
                // A broker asked in its own process makes the group then.
            }
            if (config == null) {
                config = new SubscriptionGroupConfig();
                config.setGroupName((String) arguments[0]);
            }
            return config;
        });
        calls.put("updateSubscriptionGroupConfig", arguments -> {
            Cluster.admin().createAndUpdateSubscriptionGroupConfig(address, (SubscriptionGroupConfig) arguments[0]);
            return null;
        });
        return look(SubscriptionGroupManager.class, calls);
    }

    private static ConsumerOffsetManager offsets(String name, String address) {
        Map<String, Call> calls = new HashMap<>();
        calls.put("queryOffset", arguments -> progress(name, address, arguments).getConsumerOffset());
        calls.put("queryPullOffset", arguments -> progress(name, address, arguments).getPullOffset());
        return look(ConsumerOffsetManager.class, calls);
    }

    private static OffsetWrapper progress(String name, String address, Object[] arguments) throws Exception {
        String group = (String) arguments[0];
        String topic = (String) arguments[1];
        MessageQueue queue = new MessageQueue(topic, name, (Integer) arguments[2]);
        return Cluster.api().getConsumeStats(address, group, topic, Cluster.TIMEOUT).getOffsetTable().get(queue);
    }

    private static MessageQueue queue(String broker, Object[] arguments) {
        return new MessageQueue((String) arguments[0], broker, (Integer) arguments[1]);
    }

    /** Something of which only some methods can be called. */
    private static <T> T look(Class<T> type, Map<String, Call> calls) {
        return mock(type, (InvocationOnMock invocation) -> {
            String method = invocation.getMethod().getName();
            Call call = calls.get(method);
            if (call != null) {
                return call.run(invocation.getArguments());
            }
            if (method.equals("toString")) {
                return type.getSimpleName() + " outside";
            }
            throw onlyInside(type.getSimpleName() + "." + method);
        });
    }

    /** Settings as an object: reads are of {@code real}, what is set goes to the server too. */
    private static <T> T settings(Class<T> type, T real, String address) {
        return mock(type, (InvocationOnMock invocation) -> {
            String method = invocation.getMethod().getName();
            if (method.startsWith("set")) {
                String name = Character.toLowerCase(method.charAt(3)) + method.substring(4);
                Settings.of(address).set(name, String.valueOf(invocation.getArguments()[0]));
            }
            return invocation.getMethod().invoke(real, invocation.getArguments());
        });
    }
}
