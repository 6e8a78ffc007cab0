package compat.kafka;

import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * A Kafka Streams application that runs until its standard input ends, and prints its states, the records that it
 * restores and its failures.
 *
 * <p>Arguments: bootstrap servers, application id, state directory, processing guarantee, topology (`count` or
 * `join`), prefix of its topics. It reads PREFIX-lines, or PREFIX-left and PREFIX-right, and writes PREFIX-output.
 */
public final class StreamsApplication {
    private static final Duration WINDOW = Duration.ofMinutes(5);

    private StreamsApplication() {
    }

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, args[3]);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6000);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 10000);
        Topology topology = args[4].equals("count") ? count(args[5]) : join(args[5]);
        try (KafkaStreams streams = new KafkaStreams(topology, settings)) {
            streams.setStateListener((now, before) -> print("state " + now));
            streams.setGlobalStateRestoreListener(new Restored());
            streams.setUncaughtExceptionHandler(failure -> {
                print("failure " + failure);
                return StreamThreadExceptionResponse.REPLACE_THREAD;
            });
            streams.start();
            while (System.in.read() >= 0) {
                continue;
            }
        }
        print("closed");
    }

    /** Counts words; each count is a record WORD with the value WORD=COUNT. */
    private static Topology count(String prefix) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(prefix + "-lines")
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts"))
            .toStream()
            .map((word, number) -> KeyValue.pair(word, word + "=" + number))
            .to(prefix + "-output");
        return builder.build();
    }

    /** Joins records of the same key that are less than five minutes apart, as LEFT+RIGHT. */
    private static Topology join(String prefix) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> right = builder.stream(prefix + "-right");
        builder.<String, String>stream(prefix + "-left")
            .join(right, (one, other) -> one + "+" + other, JoinWindows.ofTimeDifferenceWithNoGrace(WINDOW))
            .to(prefix + "-output");
        return builder.build();
    }

    private static synchronized void print(String line) {
        System.out.println(line);
    }

    /** Prints how many records a store was restored from. */
    private static final class Restored implements StateRestoreListener {
        @Override
        public void onRestoreStart(TopicPartition partition, String store, long start, long end) {
            print("restoring " + store + " " + partition + " " + start + " " + end);
        }

        @Override
        public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
        }

        @Override
        public void onRestoreEnd(TopicPartition partition, String store, long count) {
            print("restored " + store + " " + count);
        }
    }
}
