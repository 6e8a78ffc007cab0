package bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Push consumers: of what is there from the start, and of what is sent meanwhile. */
final class Consuming {
    private static final int CONSUME_SECONDS_MAX = 120;
    private static final int SURPLUS_MILLIS = 500;
    private static final int FAN_OUT_THREADS = 2;
    private static final long FAN_OUT_NANOS = 5_000_000L;

    private final Load load;

    Consuming(Load load) {
        this.load = load;
    }

    /** A consumer whose group is named after the topic: the harness knows it. */
    static DefaultMQPushConsumer consumer(Load load, ConsumeFromWhere from) {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("group_of_" + load.topic);
        consumer.setNamesrvAddr(load.nameServer);
        consumer.setConsumeFromWhere(from);
        return consumer;
    }

    private DefaultMQPushConsumer fromTheStart() {
        DefaultMQPushConsumer consumer = consumer(load, ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeMessageBatchMaxSize(32);
        consumer.setConsumeThreadMin(load.threads);
        consumer.setConsumeThreadMax(load.threads);
        return consumer;
    }

    void consume(String tags) throws Exception {
        DefaultMQPushConsumer consumer = fromTheStart();
        consumer.subscribe(load.topic, tags);
        consumeAll(consumer);
    }

    void consumeSql() throws Exception {
        DefaultMQPushConsumer consumer = fromTheStart();
        consumer.subscribe(load.topic, MessageSelector.bySql(Sends.PASSING_SQL));
        consumeAll(consumer);
    }

    /** The broker shares the queues out, and has been told that this group pops. */
    void pop() throws Exception {
        DefaultMQPushConsumer consumer = fromTheStart();
        consumer.setClientRebalance(false);
        consumer.subscribe(load.topic, "*");
        consumeAll(consumer);
    }

    /** Consumes the given number of messages; the clock runs from the first message to the last. */
    private void consumeAll(DefaultMQPushConsumer consumer) throws Exception {
        AtomicLong received = new AtomicLong();
        AtomicLong first = new AtomicLong();
        AtomicLong last = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (first.compareAndSet(0, System.nanoTime())) {
                Load.mark("begin", System.nanoTime());
            }
            if (received.addAndGet(messages.size()) >= load.amount && last.compareAndSet(0, System.nanoTime())) {
                done.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        if (!done.await(CONSUME_SECONDS_MAX, TimeUnit.SECONDS)) {
            throw new IllegalStateException("received " + received.get() + " of " + load.amount);
        }
        Load.mark("end", last.get());
        Thread.sleep(SURPLUS_MILLIS);
        double seconds = (last.get() - first.get()) / 1e9;
        System.out.printf("{\"work\":\"consume\",\"count\":%d,\"failed\":%d,\"perSecond\":%.1f,\"seconds\":%.3f}%n",
            load.amount, received.get() - load.amount, load.amount / seconds, seconds);
        System.out.flush();
        consumer.shutdown();
    }

    /** Sends at a steady rate (THREADS a millisecond) and consumes at once: time from send to listener. */
    void latency() throws Exception {
        List<Long> taken = Collections.synchronizedList(new ArrayList<>());
        DefaultMQProducer producer = load.producer();
        DefaultMQPushConsumer consumer = consumer(load, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET);
        consumer.subscribe(load.topic, "*");
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
        long begin = System.nanoTime() + Load.warmUpNanos(load.amount);
        long end = begin + TimeUnit.SECONDS.toNanos(load.amount);
        Load.mark("begin", begin);
        long timed = sendSteadily(producer, begin, end, 1_000_000L, load.threads);
        Load.mark("end", end);
        Thread.sleep(1500);
        long[] times = taken.stream().mapToLong(Long::longValue).toArray();
        load.failed.addAndGet(Math.abs(timed - times.length));
        load.report("latency", Collections.singletonList(times), 1, (end - begin) / 1e9);
        producer.shutdown();
        consumer.shutdown();
    }

    /** Sends at a steady rate, and consumes every message by THREADS groups at once: the cost of a delivery. */
    void fanOut() throws Exception {
        AtomicLong received = new AtomicLong();
        DefaultMQProducer producer = load.producer();
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        List<CountDownLatch> ready = new ArrayList<>();
        for (int number = 0; number < load.threads; number++) {
            DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("group_" + number + "_of_" + load.topic);
            consumer.setNamesrvAddr(load.nameServer);
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
            consumer.setConsumeThreadMin(FAN_OUT_THREADS);
            consumer.setConsumeThreadMax(FAN_OUT_THREADS);
            consumer.subscribe(load.topic, "*");
            CountDownLatch begun = new CountDownLatch(1);
            ready.add(begun);
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                begun.countDown();
                received.addAndGet(messages.stream().filter(one -> one.getUserProperty("sent") != null).count());
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
            consumer.start();
            consumers.add(consumer);
        }
        for (CountDownLatch begun : ready) {
            if (!begun.await(CONSUME_SECONDS_MAX, TimeUnit.SECONDS)) {
                throw new IllegalStateException("a group consumes nothing");
            }
        }
        long begin = System.nanoTime() + Load.warmUpNanos(load.amount);
        long end = begin + TimeUnit.SECONDS.toNanos(load.amount);
        Load.mark("begin", begin);
        long expected = sendSteadily(producer, begin, end, FAN_OUT_NANOS, 1) * load.threads;
        for (long last = end + TimeUnit.SECONDS.toNanos(10); received.get() < expected && System.nanoTime() < last;) {
            Thread.sleep(5);
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        Load.mark("end", System.nanoTime());
        Thread.sleep(SURPLUS_MILLIS);
        System.out.printf("{\"work\":\"fan-out\",\"count\":%d,\"failed\":%d,\"perSecond\":%.1f,\"seconds\":%.3f}%n",
            expected, load.failed.get() + Math.abs(expected - received.get()), expected / seconds, seconds);
        System.out.flush();
        producer.shutdown();
        consumers.forEach(DefaultMQPushConsumer::shutdown);
    }

    /** Sends COUNT messages each NANOS; returns how many of them carry the time of their sending. */
    private long sendSteadily(DefaultMQProducer producer, long begin, long end, long nanos, int count)
        throws Exception {
        long timed = 0;
        for (long next = System.nanoTime(); next < end; next += nanos) {
            while (System.nanoTime() < next) {
                Thread.sleep(0, 200_000);
            }
            for (int i = 0; i < count; i++) {
                Message message = new Message(load.topic, load.body);
                long sent = System.nanoTime();
                if (sent >= begin) {
                    message.putUserProperty("sent", Long.toString(sent));
                    timed++;
                }
                producer.send(message, new SendCallback() {
                    @Override public void onSuccess(SendResult result) { }

                    @Override public void onException(Throwable e) {
                        load.failed.incrementAndGet();
                    }
                });
            }
        }
        return timed;
    }
}
