package org.apache.kafka.common.test.junit;

import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.matcher.ElementMatchers;
import org.apache.kafka.common.config.TopicConfig;
import scala.collection.Map;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Creates the topics of Kafka's older tests with one replica, as each broker of a test is a group of its own.
 *
 * <p>`RaftClusterInvocationContext` does it for the newer ones. The older ones call a function of Scala,
 * which is changed in its class.
 */
public final class OneReplica {
    private OneReplica() {
    }

    /** Changes the function, also if its class is loaded already. */
    public static void install() {
        new AgentBuilder.Default()
            .disableClassFormatChanges()
            .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
            .type(ElementMatchers.named("kafka.utils.TestUtils$"))
            .transform((builder, type, loader, module, domain) -> builder.visit(
                Advice.to(OneReplica.class).on(ElementMatchers.named("createTopicWithAdminRaw"))))
            .installOn(ByteBuddyAgent.install());
    }

    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 3, readOnly = false) int replicas,
            @Advice.Argument(value = 4, readOnly = false) Map<Object, Seq<Object>> assignment,
            @Advice.Argument(5) Properties settings) {
        replicas = Math.min(replicas, 1);
        settings.replace(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1");
        assignment = first(assignment);
    }

    /** Returns an assignment of the same partitions to the first of their replicas. */
    public static Map<Object, Seq<Object>> first(Map<Object, Seq<Object>> assignment) {
        java.util.Map<Object, Seq<Object>> changed = new TreeMap<>();
        CollectionConverters.asJava(assignment).forEach((partition, replicas) ->
            changed.put(partition, CollectionConverters.asScala(List.of(replicas.head())).toSeq()));
        return CollectionConverters.asScala(changed);
    }
}
