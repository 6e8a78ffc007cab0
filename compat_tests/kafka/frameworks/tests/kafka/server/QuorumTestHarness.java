package kafka.server;

import com.typesafe.scalalogging.Logger;
import com.typesafe.scalalogging.Logger$;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import kafka.integration.KafkaServerTestHarness;
import kafka.utils.Logging;
import kafka.utils.TestInfoUtils;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.test.junit.BrokerView;
import org.apache.kafka.common.test.junit.ControllerView;
import org.apache.kafka.common.test.junit.OneReplica;
import org.apache.kafka.common.test.junit.Servers;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.params.provider.Arguments;
import org.mockito.Mockito;
import org.opentest4j.TestAbortedException;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Takes the place of the class of Kafka's older tests that starts Kafka's servers, and starts the other server.
 *
 * <p>All brokers of a test start with the first of them. Its names are those that classes of Scala have for
 * Java.
 */
@ExtendWith(QuorumTestHarness.Aborted.class)
public abstract class QuorumTestHarness implements Logging {
    static {
        OneReplica.install();
    }

    private final Logger logger = Logger$.MODULE$.apply(LoggerFactory.getLogger(getClass()));
    private String logIdent;
    private TestInfo testInfo;
    private String cluster;
    private String[] addresses;
    private final Set<Integer> killed = new TreeSet<>();
    private Admin observer;
    private TestAbortedException needed;

    /** Aborts a test whose exception hides that it needs what the server lacks. */
    public static final class Aborted
            implements TestExecutionExceptionHandler, LifecycleMethodExecutionExceptionHandler {
        @Override
        public void handleTestExecutionException(ExtensionContext context, Throwable error) throws Throwable {
            QuorumTestHarness test = (QuorumTestHarness) context.getRequiredTestInstance();
            throw test.needed == null ? error : test.needed;
        }

        @Override
        public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable error)
                throws Throwable {
            handleTestExecutionException(context, error);
        }
    }

    /** Returns the protocols of groups with which tests run that name this method. */
    public static Stream<Arguments> getTestGroupProtocolParametersAll() {
        return Stream.of(Arguments.of("classic"), Arguments.of("consumer"));
    }

    /** Returns the protocol of tests for classic groups. */
    public static Stream<Arguments> getTestGroupProtocolParametersClassicGroupProtocolOnly() {
        return Stream.of(Arguments.of("classic"));
    }

    /** Returns the protocol of tests for consumer groups. */
    public static Stream<Arguments> getTestGroupProtocolParametersConsumerGroupProtocolOnly() {
        return Stream.of(Arguments.of("consumer"));
    }

    @BeforeEach
    public void setUp(TestInfo info) {
        testInfo = info;
    }

    @AfterEach
    public void tearDown() {
        if (observer != null) {
            observer.close(Duration.ZERO);
            observer = null;
        }
        if (cluster != null) {
            Servers.shared().call("stop", cluster);
            cluster = null;
            killed.clear();
        }
    }

    public KafkaBroker createBroker(
            KafkaConfig config, Time time, boolean starts, Option<String> threadNamePrefix) {
        int id = config.brokerId();
        KafkaConfig shown = BrokerView.coordinated(config.originals(), brokers());
        KafkaBroker broker = BrokerView.of(this::observer, () -> port(id), this::aborted, shown);
        Mockito.doAnswer(call -> start(id, config)).when(broker).startup();
        Mockito.doAnswer(call -> kill(id)).when(broker).shutdown(Mockito.any());
        Mockito.doNothing().when(broker).shutdown();  // `tearDown` stops all brokers
        if (starts) {
            broker.startup();
        }
        return broker;
    }

    private Object start(int id, KafkaConfig config) {
        if (cluster == null) {
            Map<String, String> settings = new TreeMap<>();
            config.originals().forEach((name, value) -> settings.put(name, String.valueOf(value)));
            settings.replace(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1");
            settings.put("security.protocol", config.interBrokerSecurityProtocol().name);
            String[] answer = Servers.shared().start(brokers(), settings);
            cluster = answer[0];
            addresses = answer[1].split(",");
        } else if (killed.remove(id)) {
            Servers.shared().call("restart", cluster, String.valueOf(id));
        }
        return null;
    }

    /** Returns the number of brokers that a test starts; their ids begin with 0. */
    private int brokers() {
        return this instanceof KafkaServerTestHarness harness ? harness.configs().size() : 1;
    }

    private Object kill(int id) {
        if (killed.add(id)) {
            Servers.shared().call("kill", cluster, String.valueOf(id));
        }
        return null;
    }

    private int port(int id) {
        return Integer.parseInt(addresses[id].substring(addresses[id].lastIndexOf(':') + 1));
    }

    private Admin observer() {
        if (observer == null) {
            String all = String.join(",", addresses);
            observer = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, all));
        }
        return observer;
    }

    /** Remembers what the test needs: tests catch exceptions, and wait for other outcomes. */
    private TestAbortedException aborted(String what) {
        needed = new TestAbortedException("needs " + what);
        return needed;
    }

    public Time createBroker$default$2() {
        return Time.SYSTEM;
    }

    public boolean createBroker$default$3() {
        return true;
    }

    public Option<String> createBroker$default$4() {
        return Option.empty();
    }

    public ControllerServer controllerServer() {
        return ControllerView.of(this::observer, this::aborted);
    }

    /** Returns none, as tests wait until brokers have what controllers have in their logs. */
    public Seq<ControllerServer> controllerServers() {
        return CollectionConverters.asScala(java.util.List.<ControllerServer>of()).toSeq();
    }

    public void shutdownKRaftController() {
        throw aborted("controllers of their own");
    }

    public SecurityProtocol controllerListenerSecurityProtocol() {
        return SecurityProtocol.PLAINTEXT;
    }

    public Seq<SecurityProtocol> extraControllerSecurityProtocols() {
        return CollectionConverters.asScala(java.util.List.<SecurityProtocol>of()).toSeq();
    }

    public Seq<Properties> kraftControllerConfigs(TestInfo info) {
        return CollectionConverters.asScala(java.util.List.of(new Properties())).toSeq();
    }

    public MetadataVersion metadataVersion() {
        return MetadataVersion.latestTesting();
    }

    public Option<GroupProtocol> maybeGroupProtocolSpecified() {
        return TestInfoUtils.maybeGroupProtocolSpecified(testInfo);
    }

    public GroupProtocol groupProtocolFromTestParameters() {
        return maybeGroupProtocolSpecified().get();
    }

    @Override
    public Logger logger() {
        return logger;
    }

    @Override
    public String logIdent() {
        return logIdent;
    }

    @Override
    public void logIdent_$eq(String text) {
        logIdent = text;
    }
}
