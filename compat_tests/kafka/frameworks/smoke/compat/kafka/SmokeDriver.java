package compat.kafka;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.streams.tests.SmokeTestDriver;

/**
 * The driver of Kafka's smoke test of Streams, with a length of choice: creates its topics, writes its input during
 * that time, and verifies the output of the application under exactly-once.
 *
 * <p>Arguments: bootstrap servers, seconds.
 */
public final class SmokeDriver {
    private static final int KEYS = 20;
    private static final int RECORDS_OF_A_KEY = 1000;
    private static final int PARTITIONS = 5;

    private SmokeDriver() {
    }

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        try (Admin admin = Admin.create(settings)) {
            List<NewTopic> topics = new ArrayList<>();
            for (String topic : SmokeTestDriver.topics()) {
                topics.add(new NewTopic(topic, PARTITIONS, (short) 1));
            }
            admin.createTopics(topics).all().get();
        }
        System.out.println("topics created");
        Duration time = Duration.ofSeconds(Long.parseLong(args[1]));
        Map<String, Set<Integer>> input = SmokeTestDriver.generate(args[0], KEYS, RECORDS_OF_A_KEY, time);
        System.out.println("input written");
        boolean passed = SmokeTestDriver.verify(args[0], input, RECORDS_OF_A_KEY, true).passed();
        System.out.println(passed ? "verified" : "wrong output");
        System.exit(passed ? 0 : 1);
    }
}
