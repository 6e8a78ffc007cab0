package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Records to and from partitions, without a group. */
final class Records {
    private Records() {
    }

    /** Sends records one after the other without waiting between them; gives where each was written. */
    static Object produce(JsonNode request) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        properties.put("acks", request.get("acks").asText());
        properties.put("compression.type", request.get("compression").asText());
        properties.put("enable.idempotence", request.get("idempotent").asText());
        properties.put("linger.ms", "20");
        properties.put("max.request.size", "8000000");
        properties.put("delivery.timeout.ms", "60000");
        List<Object> places = new ArrayList<>();
        StringSerializer text = new StringSerializer();
        try (Producer<String, String> producer = new KafkaProducer<>(properties, text, text)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode one : request.get("records")) {
                sent.add(producer.send(record(request.get("topic").asText(), one)));
            }
            for (Future<RecordMetadata> one : sent) {
                RecordMetadata place = one.get();
                Map<String, Object> shape = new LinkedHashMap<>();
                shape.put("partition", place.partition());
                shape.put("offset", place.hasOffset() ? place.offset() : -1);
                places.add(shape);
            }
        }
        return places;
    }

    private static ProducerRecord<String, String> record(String topic, JsonNode one) {
        Integer partition = one.hasNonNull("partition") ? one.get("partition").asInt() : null;
        Long timestamp = one.hasNonNull("timestamp") ? one.get("timestamp").asLong() : null;
        ProducerRecord<String, String> record =
            new ProducerRecord<>(topic, partition, timestamp, text(one.get("key")), text(one.get("value")));
        for (JsonNode header : one.path("headers")) {
            String value = text(header.get(1));
            byte[] bytes = value == null ? null : value.getBytes(StandardCharsets.UTF_8);
            record.headers().add(header.get(0).asText(), bytes);
        }
        return record;
    }

    private static String text(JsonNode node) {
        return node == null || node.isNull() ? null : node.asText();
    }

    /** Reads partitions from given offsets until as many records came, or the time is over. */
    static Object consume(JsonNode request) {
        String topic = request.get("topic").asText();
        List<Object> came = new ArrayList<>();
        try (Consumer<String, String> consumer = consumer(request, new Properties())) {
            Map<TopicPartition, Long> starts = new LinkedHashMap<>();
            for (JsonNode start : request.get("starts")) {
                starts.put(new TopicPartition(topic, start.get(0).asInt()), start.get(1).asLong());
            }
            consumer.assign(starts.keySet());
            starts.forEach(consumer::seek);
            long end = System.currentTimeMillis() + request.get("millis").asLong();
            while (came.size() < request.get("count").asInt() && System.currentTimeMillis() < end) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    came.add(shape(record));
                }
            }
        }
        return came;
    }

    /** The offset of the first record of that time or a later one; -1 when there is none. */
    static Object offset(JsonNode request) {
        TopicPartition place = new TopicPartition(request.get("topic").asText(), request.get("partition").asInt());
        try (Consumer<String, String> consumer = consumer(request, new Properties())) {
            Map<TopicPartition, Long> asked = Collections.singletonMap(place, request.get("timestamp").asLong());
            OffsetAndTimestamp found = consumer.offsetsForTimes(asked).get(place);
            return found == null ? -1 : found.offset();
        }
    }

    static Consumer<String, String> consumer(JsonNode request, Properties properties) {
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        properties.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    static Map<String, Object> shape(ConsumerRecord<String, String> record) {
        List<Object> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            List<Object> pair = new ArrayList<>();
            pair.add(header.key());
            pair.add(header.value() == null ? null : new String(header.value(), StandardCharsets.UTF_8));
            headers.add(pair);
        }
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("partition", record.partition());
        shape.put("offset", record.offset());
        shape.put("key", record.key());
        shape.put("value", record.value());
        shape.put("headers", headers);
        shape.put("timestamp", record.timestamp());
        return shape;
    }
}
