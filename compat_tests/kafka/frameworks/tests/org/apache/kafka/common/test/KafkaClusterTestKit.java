package org.apache.kafka.common.test;

import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import kafka.server.BrokerServer;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.test.junit.BrokerView;
import org.apache.kafka.common.test.junit.Servers;
import org.mockito.Mockito;
import org.opentest4j.TestAbortedException;

/**
 * Takes the place of the class that starts Kafka's servers for tests of Streams and Connect.
 *
 * <p>One server stands for all brokers: it is killed when the last of them is stopped, and restarted when the
 * first one is started again.
 */
public final class KafkaClusterTestKit implements AutoCloseable {
    private static final String PROTOCOLS = "listener.security.protocol.map";

    private final TestKitNodes nodes;
    private final Map<String, String> settings;
    private final MockFaultHandler faults = new MockFaultHandler("faults");
    private final Map<Integer, BrokerServer> brokers = new TreeMap<>();
    private final TreeSet<Integer> stopped = new TreeSet<>();
    private String number;
    private String address;
    private boolean isKilled;
    private Admin observer;

    private KafkaClusterTestKit(TestKitNodes nodes, Map<String, String> settings) {
        this.nodes = nodes;
        this.settings = settings;
        KafkaConfig config = BrokerView.config(settings, 0, 1);
        for (int id : nodes.brokerNodes().keySet()) {
            brokers.put(id, view(id, config));
        }
    }

    /** Collects the settings of a cluster. */
    public static final class Builder {
        private final TestKitNodes nodes;
        private final Map<String, String> settings = new TreeMap<>();

        /** Takes the brokers with their own settings. */
        public Builder(TestKitNodes nodes) {
            this.nodes = nodes;
            nodes.brokerNodes().values().forEach(node -> settings.putAll(node.propertyOverrides()));
        }

        /** Sets a setting of all brokers. */
        public Builder setConfigProp(String name, Object value) {
            settings.put(name, String.valueOf(value));
            return this;
        }

        /** Returns the cluster, which is not started. */
        public KafkaClusterTestKit build() {
            return new KafkaClusterTestKit(nodes, settings);
        }
    }

    /** Does nothing: the store of the server is in memory. */
    public void format() {
        // There are no folders.
    }

    /** Starts the server; aborts the test if it has no listener of that kind. */
    public void startup() {
        Map<String, String> all = new TreeMap<>(settings);
        all.put("security.protocol", protocol());
        String[] answer = Servers.shared().start(1, all);
        number = answer[0];
        address = answer[1];
    }

    /** Returns the protocol of the listener for clients. */
    private String protocol() {
        return Stream.of(settings.getOrDefault(PROTOCOLS, "").split(","))
            .filter(entry -> entry.contains(":") && !entry.startsWith("CONTROLLER"))
            .map(entry -> entry.substring(entry.indexOf(':') + 1))
            .findFirst().orElse(nodes.brokerListenerProtocol().name);
    }

    /** Does nothing: the server was ready when it was started. */
    public void waitForReadyBrokers() {
        // See `startup`.
    }

    /** Returns the address of the server. */
    public String bootstrapServers() {
        return address;
    }

    /** Returns the brokers by id. */
    public Map<Integer, BrokerServer> brokers() {
        return brokers;
    }

    /** Returns the handler of faults, of which there are none. */
    public MockFaultHandler nonFatalFaultHandler() {
        return faults;
    }

    @Override
    public void close() {
        if (observer != null) {
            observer.close();
        }
        if (number != null) {
            Servers.shared().call("stop", number);
            number = null;
        }
    }

    private BrokerServer view(int id, KafkaConfig config) {
        BrokerServer broker = BrokerView.of(this::observer, this::port, KafkaClusterTestKit::aborted, config);
        Mockito.doAnswer(call -> start(id)).when(broker).startup();
        Mockito.doAnswer(call -> stop(id)).when(broker).shutdown();
        return broker;
    }

    private synchronized Object stop(int id) {
        stopped.add(id);
        if (stopped.size() == brokers.size() && !isKilled) {
            Servers.shared().call("kill", number, "0");
            isKilled = true;
        }
        return null;
    }

    private synchronized Object start(int id) {
        stopped.remove(id);
        if (isKilled) {
            Servers.shared().call("restart", number, "0");
            isKilled = false;
        }
        return null;
    }

    private int port() {
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    private Admin observer() {
        if (observer == null) {
            observer = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, address));
        }
        return observer;
    }

    private static TestAbortedException aborted(String what) {
        return new TestAbortedException("needs " + what);
    }
}
