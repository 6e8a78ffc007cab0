package bench;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * Puts one load on a gRPC door with the official client: {@code GrpcLoad WORK ENDPOINTS TOPIC AMOUNT IN_FLIGHT
 * BYTES}. AMOUNT is seconds measured after a warm-up, or for receiving the number of messages, which are sent
 * first. Prints {"mark": "begin" or "end", "inMillis": N} around what is measured, then its result.
 */
public final class GrpcLoad {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final long WARM_UP = TimeUnit.SECONDS.toNanos(3);
    private static final int PER_SECOND = 1000;
    private static final int BATCH = 32;
    private static final int FILL_IN_FLIGHT = 64;
    private static final Duration INVISIBLE = Duration.ofSeconds(60);

    private final ClientConfiguration configuration;
    private final String topic;
    private final long amount;
    private final int inFlight;
    private final byte[] body;
    private final AtomicLong done = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final ConcurrentLinkedQueue<Long> times = new ConcurrentLinkedQueue<>();

    private GrpcLoad(String[] arguments) {
        configuration = ClientConfiguration.newBuilder()
                .setEndpoints(arguments[1]).enableSsl(false).setRequestTimeout(Duration.ofSeconds(10)).build();
        topic = arguments[2];
        amount = Long.parseLong(arguments[3]);
        inFlight = Integer.parseInt(arguments[4]);
        body = new byte[Integer.parseInt(arguments[5])];
        Arrays.fill(body, (byte) 'x');
    }

    public static void main(String[] arguments) throws Exception {
        GrpcLoad load = new GrpcLoad(arguments);
        if (arguments[0].equals("send")) {
            load.send();
        } else if (arguments[0].equals("receive")) {
            load.receive();
        } else {
            load.latency();
        }
        Runtime.getRuntime().halt(0);
    }

    private Producer producer() throws Exception {
        return PROVIDER.newProducerBuilder().setClientConfiguration(configuration).setTopics(topic).build();
    }

    private Message message() {
        ByteBuffer stamped = ByteBuffer.wrap(body.clone());
        stamped.putLong(System.nanoTime());
        return PROVIDER.newMessageBuilder().setTopic(topic).setBody(stamped.array()).build();
    }

    /** Keeps a number of sends in flight. */
    private void send() throws Exception {
        Producer producer = producer();
        long begin = System.nanoTime() + WARM_UP;
        long end = begin + TimeUnit.SECONDS.toNanos(amount);
        mark("begin", begin);
        Semaphore permits = new Semaphore(inFlight);
        while (System.nanoTime() < end) {
            permits.acquire();
            long start = System.nanoTime();
            producer.sendAsync(message()).whenComplete((receipt, failure) -> {
                permits.release();
                long now = System.nanoTime();
                if (failure != null) {
                    failed.incrementAndGet();
                } else if (start >= begin && now < end) {
                    done.incrementAndGet();
                    times.add(now - start);
                }
            });
        }
        mark("end", end);
        permits.tryAcquire(inFlight, 15, TimeUnit.SECONDS);
        report((end - begin) / 1e9);
    }

    /** Sends what is to be received, then receives and acknowledges all of it, so many receives at a time. */
    private void receive() throws Exception {
        Producer producer = producer();
        Semaphore permits = new Semaphore(FILL_IN_FLIGHT);
        AtomicLong there = new AtomicLong();
        for (long i = 0; i < amount; i++) {
            permits.acquire();
            producer.sendAsync(message()).whenComplete((receipt, failure) -> {
                permits.release();
                (failure == null ? there : failed).incrementAndGet();
            });
        }
        permits.acquire(FILL_IN_FLIGHT);
        SimpleConsumer consumer = PROVIDER.newSimpleConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup("group_of_" + topic)
                .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL))
                .setAwaitDuration(Duration.ofSeconds(5))
                .build();
        long begin = System.nanoTime();
        mark("begin", begin);
        CountDownLatch running = new CountDownLatch(inFlight);
        for (int i = 0; i < inFlight; i++) {
            new Thread(() -> {
                while (done.get() < there.get()) {
                    take(consumer);
                }
                running.countDown();
            }).start();
        }
        while (done.get() < there.get()) {
            Thread.sleep(5);
        }
        long end = System.nanoTime();
        mark("end", end);
        report((end - begin) / 1e9);
    }

    private void take(SimpleConsumer consumer) {
        try {
            long start = System.nanoTime();
            List<MessageView> messages = consumer.receive(BATCH, INVISIBLE);
            times.add(System.nanoTime() - start);
            for (MessageView message : messages) {
                consumer.ackAsync(message).whenComplete((nothing, failure) ->
                        (failure == null ? done : failed).incrementAndGet());
            }
        } catch (Exception refused) {
            failed.incrementAndGet();
        }
    }

    /** Sends at a steady rate; what is timed is from the send to the listener. */
    private void latency() throws Exception {
        AtomicLong from = new AtomicLong(Long.MAX_VALUE);
        AtomicLong until = new AtomicLong(Long.MAX_VALUE);
        PushConsumer consumer = PROVIDER.newPushConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup("group_of_" + topic)
                .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL))
                .setMessageListener(message -> {
                    long sent = message.getBody().getLong();
                    if (sent >= from.get() && sent < until.get()) {
                        done.incrementAndGet();
                        times.add(System.nanoTime() - sent);
                    }
                    return ConsumeResult.SUCCESS;
                })
                .build();
        Producer producer = producer();
        long begin = System.nanoTime() + WARM_UP;
        long end = begin + TimeUnit.SECONDS.toNanos(amount);
        until.set(end);
        from.set(begin);
        mark("begin", begin);
        long step = TimeUnit.SECONDS.toNanos(1) / PER_SECOND;
        for (long due = System.nanoTime(); due < end; due += step) {
            long early = due - System.nanoTime();
            if (early > 0) {
                TimeUnit.NANOSECONDS.sleep(early);
            }
            producer.sendAsync(message()).whenComplete((receipt, failure) -> {
                if (failure != null) {
                    failed.incrementAndGet();
                }
            });
        }
        mark("end", end);
        Thread.sleep(3000);
        report((end - begin) / 1e9);
        consumer.close();
    }

    private static void mark(String name, long when) {
        long millis = Math.max(0, TimeUnit.NANOSECONDS.toMillis(when - System.nanoTime()));
        System.out.println(String.format("{\"mark\": \"%s\", \"inMillis\": %d}", name, millis));
        System.out.flush();
    }

    private void report(double seconds) {
        long[] sorted = times.stream().mapToLong(Long::longValue).sorted().toArray();
        System.out.println(String.format(Locale.ROOT,
                "{\"perSecond\": %.1f, \"count\": %d, \"failed\": %d, \"p50us\": %d, \"p99us\": %d}",
                done.get() / seconds, done.get(), failed.get(), of(sorted, 0.5), of(sorted, 0.99)));
        System.out.flush();
    }

    private static long of(long[] sorted, double share) {
        return sorted.length == 0 ? 0 : sorted[(int) Math.min(sorted.length - 1, sorted.length * share)] / 1000;
    }
}
