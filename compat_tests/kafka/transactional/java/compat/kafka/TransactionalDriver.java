package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Runs transactional producers and readers as requests on standard input say: a JSON object a line. */
public final class TransactionalDriver {
    private static final Map<String, Producer<String, String>> PRODUCERS = new ConcurrentHashMap<>();
    private static final Map<String, Consumer<String, String>> CONSUMERS = new ConcurrentHashMap<>();

    private TransactionalDriver() {
    }

    public static void main(String[] args) throws Exception {
        Requests.serve(TransactionalDriver::run);
    }

    private static Object run(JsonNode request) throws Exception {
        String name = request.path("name").asText();
        switch (request.get("op").asText()) {
            case "open":
                PRODUCERS.put(name, producer(request));
                return null;
            case "begin":
                PRODUCERS.get(name).beginTransaction();
                return null;
            case "send":
                return send(PRODUCERS.get(name), request);
            case "commit":
                PRODUCERS.get(name).commitTransaction();
                return null;
            case "abort":
                PRODUCERS.get(name).abortTransaction();
                return null;
            case "close":
                PRODUCERS.remove(name).close(Duration.ofSeconds(5));
                return null;
            case "read":
                return read(request);
            case "join":
                CONSUMERS.put(name, consumer(request));
                CONSUMERS.get(name).subscribe(Collections.singletonList(request.get("topic").asText()));
                return null;
            case "leave":
                CONSUMERS.remove(name).close();
                return null;
            case "describe":
                return describe(request);
            case "copy":
                return copy(request);
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    private static Producer<String, String> producer(JsonNode request) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        properties.put("transactional.id", request.get("transactional").asText());
        properties.put("transaction.timeout.ms", request.get("millis").asText());
        properties.put("delivery.timeout.ms", "120000");
        properties.put("max.block.ms", "60000");
        Producer<String, String> producer =
            new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    /** Sends values to partitions in turn; gives their offsets. */
    private static Object send(Producer<String, String> producer, JsonNode request) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode one : request.get("values")) {
            int partition = sent.size() % request.get("partitions").asInt();
            sent.add(producer.send(new ProducerRecord<>(request.get("topic").asText(), partition, null, one.asText())));
        }
        producer.flush();
        List<Object> offsets = new ArrayList<>();
        for (Future<RecordMetadata> one : sent) {
            offsets.add(one.get().offset());
        }
        return offsets;
    }

    private static Consumer<String, String> consumer(JsonNode request) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "earliest");
        properties.put("isolation.level", request.path("isolation").asText("read_committed"));
        if (request.hasNonNull("group")) {
            properties.put("group.id", request.get("group").asText());
            properties.put("session.timeout.ms", "6000");
        }
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    /** The values of a partition up to its end, as the isolation level has it, and the position after it. */
    private static Object read(JsonNode request) {
        TopicPartition place = new TopicPartition(request.get("topic").asText(), request.get("partition").asInt());
        List<String> values = new ArrayList<>();
        try (Consumer<String, String> consumer = consumer(request)) {
            consumer.assign(Collections.singletonList(place));
            consumer.seekToBeginning(Collections.singletonList(place));
            long end = consumer.endOffsets(Collections.singletonList(place)).get(place);
            long until = System.currentTimeMillis() + request.get("millis").asLong();
            while (consumer.position(place) < end && System.currentTimeMillis() < until) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    values.add(record.value());
                }
            }
            Map<String, Object> shape = new LinkedHashMap<>();
            shape.put("values", values);
            shape.put("end", end);
            return shape;
        }
    }

    /** What administrators see of a transactional id: its state in the list and by itself, and its partitions. */
    private static Object describe(JsonNode request) throws Exception {
        String id = request.get("transactional").asText();
        Properties properties = new Properties();
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        Map<String, Object> shape = new LinkedHashMap<>();
        try (Admin admin = Admin.create(properties)) {
            admin.listTransactions().all().get().forEach(one -> {
                if (one.transactionalId().equals(id)) {
                    shape.put("listed", one.state().toString());
                }
            });
            TransactionDescription one = admin.describeTransactions(Collections.singletonList(id)).description(id).get();
            shape.put("state", one.state().toString());
            shape.put("timeout", one.transactionTimeoutMs());
            List<String> places = new ArrayList<>();
            one.topicPartitions().forEach(place -> places.add(place.toString()));
            Collections.sort(places);
            shape.put("partitions", places);
        }
        return shape;
    }

    /** One round of a loop that reads, processes and writes: what was read is written, with its offsets, as one
     * transaction that is committed or aborted. Gives the values that were read. */
    private static Object copy(JsonNode request) throws Exception {
        Consumer<String, String> consumer = CONSUMERS.get(request.get("consumer").asText());
        Producer<String, String> producer = PRODUCERS.get(request.get("name").asText());
        List<ConsumerRecord<String, String>> came = new ArrayList<>();
        long until = System.currentTimeMillis() + request.get("millis").asLong();
        while (came.isEmpty() && System.currentTimeMillis() < until) {
            consumer.poll(Duration.ofMillis(200)).forEach(came::add);
        }
        if (came.isEmpty()) {
            return came;
        }
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
        List<String> values = new ArrayList<>();
        for (ConsumerRecord<String, String> record : came) {
            producer.send(new ProducerRecord<>(request.get("target").asText(), record.partition(), null, record.value()));
            offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
            values.add(record.value());
        }
        ConsumerGroupMetadata group = consumer.groupMetadata();
        producer.sendOffsetsToTransaction(offsets, group);
        if (request.get("commit").asBoolean()) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
            consumer.assignment().forEach(place -> {
                OffsetAndMetadata known = consumer.committed(Collections.singleton(place)).get(place);
                consumer.seek(place, known == null ? 0 : known.offset());
            });
        }
        return values;
    }
}
