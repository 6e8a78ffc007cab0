package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends: one after another on some threads, many under way at once, and fills for consumers. */
final class Sends {
    static final int BATCH = 32;
    /** A quarter of what {@link #fillMixed} writes has this tag, and passes this expression. */
    static final String PASSING_TAG = "passes";
    static final String PASSING_SQL = "number < 25 AND region = 'here'";
    private static final int MIXED_CYCLE = 100;
    private static final int MIXED_PASSING = 25;
    private static final int ASYNC_IN_FLIGHT = 256;

    private final Load load;

    Sends(Load load) {
        this.load = load;
    }

    /** Threads that send one after another until the time is over; each send is timed. */
    void sync(int perSend) throws Exception {
        DefaultMQProducer producer = load.producer();
        long begin = System.nanoTime() + Load.warmUpNanos(load.amount);
        long end = begin + TimeUnit.SECONDS.toNanos(load.amount);
        List<long[]> times = Collections.synchronizedList(new ArrayList<>());
        Load.mark("begin", begin);
        Thread[] workers = new Thread[load.threads];
        for (int i = 0; i < load.threads; i++) {
            int first = i * load.topics.length / load.threads;
            workers[i] = new Thread(() -> times.add(sendUntil(producer, perSend, first, begin, end)));
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        Load.mark("end", end);
        load.settle(producer);
        load.report(perSend == 1 ? "sync" : "batch", times, perSend, (end - begin) / 1e9);
        producer.shutdown();
    }

    private long[] sendUntil(DefaultMQProducer producer, int perSend, int first, long begin, long end) {
        long[] taken = new long[1 << 16];
        int count = 0;
        for (int turn = first;; turn++) {
            long start = System.nanoTime();
            if (start >= end) {
                return Arrays.copyOf(taken, count);
            }
            try {
                String topic = load.topics[turn % load.topics.length];
                SendResult result = perSend == 1
                    ? producer.send(new Message(topic, load.body)) : producer.send(batch(perSend));
                if (result.getSendStatus() == SendStatus.SEND_OK) {
                    load.sent.addAndGet(perSend);
                } else {
                    load.failed.addAndGet(perSend);
                }
            } catch (Exception e) {
                load.failed.addAndGet(perSend);
            }
            if (start >= begin) {
                if (count == taken.length) {
                    taken = Arrays.copyOf(taken, count * 2);
                }
                taken[count++] = System.nanoTime() - start;
            }
        }
    }

    private List<Message> batch(long size) {
        List<Message> messages = new ArrayList<>(BATCH);
        for (int i = 0; i < size; i++) {
            messages.add(new Message(load.topic, load.body));
        }
        return messages;
    }

    /** One thread that keeps a number of sends in flight. */
    void async() throws Exception {
        DefaultMQProducer producer = load.producer();
        long begin = System.nanoTime() + Load.warmUpNanos(load.amount);
        long end = begin + TimeUnit.SECONDS.toNanos(load.amount);
        Load.mark("begin", begin);
        Semaphore permits = new Semaphore(ASYNC_IN_FLIGHT);
        List<Long> taken = Collections.synchronizedList(new ArrayList<>());
        while (System.nanoTime() < end) {
            permits.acquire();
            long start = System.nanoTime();
            producer.send(new Message(load.topic, load.body), new SendCallback() {
                @Override public void onSuccess(SendResult result) {
                    long now = System.nanoTime();
                    if (start >= begin && now < end) {
                        taken.add(now - start);
                    }
                    load.sent.incrementAndGet();
                    permits.release();
                }

                @Override public void onException(Throwable e) {
                    load.failed.incrementAndGet();
                    permits.release();
                }
            });
        }
        permits.tryAcquire(ASYNC_IN_FLIGHT, 15, TimeUnit.SECONDS);
        Load.mark("end", end);
        load.settle(producer);
        long[] times = taken.stream().mapToLong(Long::longValue).toArray();
        load.report("async", Collections.singletonList(times), 1, (end - begin) / 1e9);
        producer.shutdown();
    }

    /** Writes the given number of messages, in batches, for a consumer to read from the start. */
    void fill() throws Exception {
        fill((number, message) -> { });
    }

    /** Writes messages of which a quarter passes the filters, by tag and by properties. */
    void fillMixed() throws Exception {
        fill((number, message) -> {
            long place = number % MIXED_CYCLE;
            message.setTags(place < MIXED_PASSING ? PASSING_TAG : "other");
            message.putUserProperty("number", Long.toString(place));
            message.putUserProperty("region", "here");
        });
    }

    /** Makes the message with a number what it is to be. */
    private interface Shape {
        void give(long number, Message message);
    }

    private void fill(Shape shape) throws Exception {
        DefaultMQProducer producer = load.producer();
        List<MessageQueue> queues = producer.fetchPublishMessageQueues(load.topic);
        for (long written = 0; written < load.amount; written += BATCH) {
            List<Message> messages = batch(Math.min(BATCH, load.amount - written));
            for (int i = 0; i < messages.size(); i++) {
                shape.give(written + i, messages.get(i));
            }
            producer.send(messages, queues.get((int) (written / BATCH % queues.size())));
            load.sent.addAndGet(messages.size());
        }
        load.settle(producer);
        System.out.printf("{\"work\":\"fill\",\"count\":%d,\"failed\":%d}%n", load.sent.get(), load.failed.get());
        System.out.flush();
        producer.shutdown();
    }
}
