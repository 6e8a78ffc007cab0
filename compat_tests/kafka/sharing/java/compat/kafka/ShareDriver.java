package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Runs members of share groups as requests on standard input say: a JSON object a line, answered by another. */
public final class ShareDriver {
    private static final Map<String, ShareMember> MEMBERS = new ConcurrentHashMap<>();

    private ShareDriver() {
    }

    public static void main(String[] args) throws Exception {
        Requests.serve(ShareDriver::run);
    }

    private static Object run(JsonNode request) throws Exception {
        switch (request.get("op").asText()) {
            case "produce":
                return produce(request);
            case "configure":
                return configure(request);
            case "join":
                MEMBERS.put(request.get("member").asText(), new ShareMember(request));
                return null;
            case "poll":
                return member(request).poll(request.get("millis").asLong());
            case "acknowledge":
                return member(request).acknowledge(request);
            case "commit":
                return member(request).commit();
            case "close":
                MEMBERS.remove(request.get("member").asText()).close();
                return null;
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    private static ShareMember member(JsonNode request) {
        return MEMBERS.get(request.get("member").asText());
    }

    /** Sends values to partition 0, each as a batch of its own if it is asked for. */
    private static Object produce(JsonNode request) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        properties.put("linger.ms", "50");
        if (request.hasNonNull("transaction")) {
            properties.put("transactional.id", request.get("transaction").asText());
        }
        StringSerializer text = new StringSerializer();
        try (Producer<String, String> producer = new KafkaProducer<>(properties, text, text)) {
            boolean isTransaction = request.hasNonNull("transaction");
            if (isTransaction) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            for (JsonNode value : request.get("values")) {
                producer.send(new ProducerRecord<>(request.get("topic").asText(), 0, null, value.asText()));
                if (request.get("apart").asBoolean()) {
                    producer.flush();
                }
            }
            producer.flush();
            if (isTransaction && request.get("aborts").asBoolean()) {
                producer.abortTransaction();
            } else if (isTransaction) {
                producer.commitTransaction();
            }
        }
        return null;
    }

    /** Changes settings of a group. */
    private static Object configure(JsonNode request) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, request.get("group").asText());
        List<AlterConfigOp> changes = new ArrayList<>();
        request.get("settings").fields().forEachRemaining(one -> changes.add(new AlterConfigOp(
            new ConfigEntry(one.getKey(), one.getValue().asText()), AlterConfigOp.OpType.SET)));
        try (Admin admin = Admin.create(properties)) {
            admin.incrementalAlterConfigs(Map.of(group, changes)).all().get();
        }
        return null;
    }

    /** One member. */
    private static final class ShareMember {
        private final KafkaShareConsumer<String, String> consumer;
        private final Map<String, ConsumerRecord<String, String>> records = new TreeMap<>();
        private final List<String> failures = new ArrayList<>();

        ShareMember(JsonNode request) {
            Properties properties = new Properties();
            properties.put("bootstrap.servers", request.get("bootstrap").asText());
            properties.put("group.id", request.get("group").asText());
            request.get("settings").fields().forEachRemaining(
                one -> properties.put(one.getKey(), one.getValue().asText()));
            consumer = new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
            consumer.setAcknowledgementCommitCallback((offsets, failure) -> {
                if (failure != null) {
                    failures.add(failure.getClass().getSimpleName());
                }
            });
            consumer.subscribe(List.of(request.get("topic").asText()));
        }

        synchronized Object poll(long millis) {
            List<Object> found = new ArrayList<>();
            long end = System.currentTimeMillis() + millis;
            while (found.isEmpty() && System.currentTimeMillis() < end) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    records.put(record.partition() + "-" + record.offset(), record);
                    Map<String, Object> shape = new LinkedHashMap<>();
                    shape.put("partition", record.partition());
                    shape.put("offset", record.offset());
                    shape.put("value", record.value());
                    shape.put("count", (int) record.deliveryCount().orElse((short) 0));
                    found.add(shape);
                }
            }
            return found;
        }

        synchronized Object acknowledge(JsonNode request) {
            String place = request.get("partition").asText() + "-" + request.get("offset").asText();
            consumer.acknowledge(records.get(place), AcknowledgeType.valueOf(request.get("type").asText()));
            return null;
        }

        /** Sends acknowledgements; gives the names of the errors of partitions, and those told before. */
        synchronized Object commit() {
            List<String> errors = new ArrayList<>(failures);
            failures.clear();
            for (Map.Entry<TopicIdPartition, Optional<KafkaException>> one : consumer.commitSync().entrySet()) {
                one.getValue().ifPresent(failure -> errors.add(failure.getClass().getSimpleName()));
            }
            return errors;
        }

        synchronized void close() {
            consumer.close();
        }
    }
}
