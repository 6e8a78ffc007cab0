package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A load on one server with the official client: one kind of work a run, one line of JSON as result.
 *
 * <p>Usage: Load KIND NAMESRV TOPIC SECONDS THREADS BODY_BYTES, where KIND is sync, async, batch, fill,
 * consume or latency. SECONDS counts after the warm-up; for fill and consume it is a number of messages.
 */
public final class Load {
    private static final int BATCH = 32;
    private static final int ASYNC_IN_FLIGHT = 256;

    private final String nameServer;
    private final String topic;
    private final long amount;
    private final int threads;
    private final byte[] body;
    private final AtomicLong failed = new AtomicLong();

    private Load(String[] args) {
        nameServer = args[1];
        topic = args[2];
        amount = Long.parseLong(args[3]);
        threads = Integer.parseInt(args[4]);
        body = new byte[Integer.parseInt(args[5])];
        Arrays.fill(body, (byte) 'x');
    }

    public static void main(String[] args) throws Exception {
        Load load = new Load(args);
        switch (args[0]) {
            case "sync": load.sendFor("sync"); break;
            case "batch": load.sendFor("batch"); break;
            case "async": load.async(); break;
            case "fill": load.fill(); break;
            case "consume": load.consume(); break;
            case "latency": load.latency(); break;
            default: throw new IllegalArgumentException(args[0]);
        }
        System.exit(0);
    }

    private DefaultMQProducer producer() throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("bench_producer");
        producer.setNamesrvAddr(nameServer);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.setSendMsgTimeout(10000);
        producer.start();
        // The first sends create the topic; they are not part of any figure.
        for (int i = 0; i < 20; i++) {
            producer.send(new Message(topic, body));
        }
        return producer;
    }

    private static long warmUpNanos(long seconds) {
        return TimeUnit.SECONDS.toNanos(Math.max(2, seconds / 3));
    }

    /** Threads that send one after another until the time is over; each send is timed. */
    private void sendFor(String kind) throws Exception {
        DefaultMQProducer producer = producer();
        long begin = System.nanoTime() + warmUpNanos(amount);
        long end = begin + TimeUnit.SECONDS.toNanos(amount);
        int perSend = kind.equals("batch") ? BATCH : 1;
        List<long[]> times = Collections.synchronizedList(new ArrayList<>());
        mark("begin", begin);
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = new Thread(() -> times.add(sendUntil(producer, perSend, begin, end)));
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        report(kind, times, perSend, (end - begin) / 1e9);
        producer.shutdown();
    }

    private long[] sendUntil(DefaultMQProducer producer, int perSend, long begin, long end) {
        long[] taken = new long[1 << 16];
        int count = 0;
        while (true) {
            long start = System.nanoTime();
            if (start >= end) {
                return Arrays.copyOf(taken, count);
            }
            try {
                SendResult result = perSend == 1 ? producer.send(new Message(topic, body)) : producer.send(batch());
                if (result.getSendStatus() != SendStatus.SEND_OK) {
                    failed.incrementAndGet();
                }
            } catch (Exception e) {
                failed.incrementAndGet();
            }
            if (start >= begin) {
                if (count == taken.length) {
                    taken = Arrays.copyOf(taken, count * 2);
                }
                taken[count++] = System.nanoTime() - start;
            }
        }
    }

    private List<Message> batch() {
        List<Message> messages = new ArrayList<>(BATCH);
        for (int i = 0; i < BATCH; i++) {
            messages.add(new Message(topic, body));
        }
        return messages;
    }

    /** One thread that keeps a number of sends in flight. */
    private void async() throws Exception {
        DefaultMQProducer producer = producer();
        long begin = System.nanoTime() + warmUpNanos(amount);
        long end = begin + TimeUnit.SECONDS.toNanos(amount);
        mark("begin", begin);
        Semaphore permits = new Semaphore(ASYNC_IN_FLIGHT);
        List<Long> taken = Collections.synchronizedList(new ArrayList<>());
        while (System.nanoTime() < end) {
            permits.acquire();
            long start = System.nanoTime();
            producer.send(new Message(topic, body), new SendCallback() {
                @Override public void onSuccess(SendResult result) {
                    long now = System.nanoTime();
                    if (start >= begin && now < end) {
                        taken.add(now - start);
                    }
                    permits.release();
                }

                @Override public void onException(Throwable e) {
                    failed.incrementAndGet();
                    permits.release();
                }
            });
        }
        permits.tryAcquire(ASYNC_IN_FLIGHT, 15, TimeUnit.SECONDS);
        long[] times = taken.stream().mapToLong(Long::longValue).toArray();
        report("async", Collections.singletonList(times), 1, (end - begin) / 1e9);
        producer.shutdown();
    }

    /** Writes the given number of messages, in batches, for a consumer to read from the start. */
    private void fill() throws Exception {
        DefaultMQProducer producer = producer();
        List<MessageQueue> queues = producer.fetchPublishMessageQueues(topic);
        for (long sent = 0; sent < amount; sent += BATCH) {
            producer.send(batch(), queues.get((int) (sent / BATCH % queues.size())));
        }
        System.out.println("{\"work\":\"fill\",\"count\":" + amount + "}");
        producer.shutdown();
    }

    /** A push consumer from the first offset; the clock runs from the first message to the last. */
    private void consume() throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_consumer_" + System.nanoTime());
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.setConsumeMessageBatchMaxSize(32);
        consumer.setConsumeThreadMin(threads);
        consumer.setConsumeThreadMax(threads);
        AtomicLong received = new AtomicLong();
        AtomicLong first = new AtomicLong();
        AtomicLong last = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (first.compareAndSet(0, System.nanoTime())) {
                mark("begin", System.nanoTime());
            }
            if (received.addAndGet(messages.size()) >= amount && last.compareAndSet(0, System.nanoTime())) {
                done.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        if (!done.await(120, TimeUnit.SECONDS)) {
            throw new IllegalStateException("received " + received.get() + " of " + amount);
        }
        double seconds = (last.get() - first.get()) / 1e9;
        System.out.printf("{\"work\":\"consume\",\"count\":%d,\"failed\":0,\"perSecond\":%.1f,\"seconds\":%.3f}%n",
            received.get(), received.get() / seconds, seconds);
        consumer.shutdown();
    }

    /** Sends at a steady rate (THREADS a millisecond) and consumes at once: time from send to listener. */
    private void latency() throws Exception {
        List<Long> taken = Collections.synchronizedList(new ArrayList<>());
        DefaultMQProducer producer = producer();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_latency_" + System.nanoTime());
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = System.nanoTime();
            for (MessageExt message : messages) {
                String sent = message.getUserProperty("sent");
                if (sent != null) {
                    taken.add(now - Long.parseLong(sent));
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Thread.sleep(3000);
        long begin = System.nanoTime() + warmUpNanos(amount);
        long end = begin + TimeUnit.SECONDS.toNanos(amount);
        mark("begin", begin);
        for (long next = System.nanoTime(); next < end; next += 1_000_000L) {
            while (System.nanoTime() < next) {
                Thread.sleep(0, 200_000);
            }
            for (int i = 0; i < threads; i++) {
                Message message = new Message(topic, body);
                long sent = System.nanoTime();
                if (sent >= begin) {
                    message.putUserProperty("sent", Long.toString(sent));
                }
                producer.send(message, new SendCallback() {
                    @Override public void onSuccess(SendResult result) { }

                    @Override public void onException(Throwable e) {
                        failed.incrementAndGet();
                    }
                });
            }
        }
        Thread.sleep(1500);
        long[] times = taken.stream().mapToLong(Long::longValue).toArray();
        report("latency", Collections.singletonList(times), 1, (end - begin) / 1e9);
        producer.shutdown();
        consumer.shutdown();
    }

    /** Tells the harness when the measured part begins, so that it takes CPU time from there. */
    private static void mark(String what, long at) {
        long inMillis = Math.max(0, (at - System.nanoTime()) / 1_000_000);
        System.out.println("{\"mark\":\"" + what + "\",\"inMillis\":" + inMillis + "}");
        System.out.flush();
    }

    private void report(String work, List<long[]> parts, int perSend, double seconds) {
        long[] all = parts.stream().flatMapToLong(Arrays::stream).sorted().toArray();
        System.out.printf(
            "{\"work\":\"%s\",\"count\":%d,\"failed\":%d,\"perSecond\":%.1f,\"seconds\":%.3f,"
                + "\"p50us\":%.1f,\"p99us\":%.1f,\"p999us\":%.1f,\"maxus\":%.1f}%n",
            work, (long) all.length * perSend, failed.get(), all.length * perSend / seconds, seconds,
            at(all, 0.5), at(all, 0.99), at(all, 0.999), at(all, 1.0));
        System.out.flush();
    }

    private static double at(long[] sorted, double quantile) {
        if (sorted.length == 0) {
            return 0;
        }
        return sorted[(int) Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] / 1000.0;
    }
}
