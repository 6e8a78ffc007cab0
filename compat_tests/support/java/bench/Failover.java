package bench;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * What a producer and a consumer notice when one of two masters is killed; one line of JSON as result.
 *
 * <p>Usage: Failover NAMESRV TOPIC BROKER SECONDS THREADS, where BROKER is the one to be killed. It says
 * {"flowing":true} when messages flow, waits for a line, lets the consumer pause, says {"paused":true}, and waits
 * for another line: the broker is killed at this moment. Clients have their defaults.
 */
public final class Failover {
    private static final long PAUSE_MILLIS = 5;
    private static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long PATIENCE_SECONDS = 120;

    /** One send: when it began and ended, whether it was acknowledged and by whom. */
    private static final class Sent {
        final String body;
        final long began;
        final long ended;
        final String broker;

        Sent(String body, long began, long ended, String broker) {
            this.body = body;
            this.began = began;
            this.ended = ended;
            this.broker = broker;
        }
    }

    private final String nameServer;
    private final String topic;
    private final String broker;
    private final long seconds;
    private final int threads;
    private final ConcurrentLinkedQueue<Sent> sends = new ConcurrentLinkedQueue<>();
    private final Map<String, Long> received = new ConcurrentHashMap<>();
    private volatile boolean sending = true;
    private long repeated;

    private Failover(String[] args) {
        nameServer = args[0];
        topic = args[1];
        broker = args[2];
        seconds = Long.parseLong(args[3]);
        threads = Integer.parseInt(args[4]);
    }

    public static void main(String[] args) throws Exception {
        new Failover(args).run();
        System.exit(0);
    }

    private void run() throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("failover_producer");
        producer.setNamesrvAddr(nameServer);
        producer.start();
        // The first sends make the topic on both brokers; a consumer that came before would find no route.
        for (int i = 0; i < 40; i++) {
            producer.send(new Message(topic, ("first-" + i).getBytes()));
        }
        Thread.sleep(1000);
        DefaultMQPushConsumer consumer = consumer();
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            String name = "m" + i + "-";
            workers[i] = new Thread(() -> send(producer, name));
            workers[i].start();
        }
        while (received.size() < 1000) {
            Thread.sleep(50);
        }
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        say("flowing");
        commands.readLine();
        // What is sent from here on is not read before the broker is dead.
        consumer.suspend();
        Thread.sleep(3000);
        say("paused");
        commands.readLine();
        long killed = System.nanoTime();
        consumer.resume();
        Thread.sleep(TimeUnit.SECONDS.toMillis(seconds));
        sending = false;
        for (Thread worker : workers) {
            worker.join();
        }
        report(killed, waitForAll());
        producer.shutdown();
        consumer.shutdown();
    }

    private static void say(String what) {
        System.out.println("{\"" + what + "\":true}");
        System.out.flush();
    }

    private DefaultMQPushConsumer consumer() throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("failover_consumer_" + System.nanoTime());
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = System.nanoTime();
            for (MessageExt message : messages) {
                if (received.putIfAbsent(new String(message.getBody()), now) != null) {
                    synchronized (this) {
                        repeated++;
                    }
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return consumer;
    }

    private void send(DefaultMQProducer producer, String name) {
        for (long number = 0; sending; number++) {
            String body = name + number;
            long began = System.nanoTime();
            String taker = null;
            try {
                SendResult result = producer.send(new Message(topic, body.getBytes()));
                if (result.getSendStatus() == SendStatus.SEND_OK) {
                    taker = result.getMessageQueue().getBrokerName();
                }
                sends.add(new Sent(body, began, System.nanoTime(), taker));
                Thread.sleep(PAUSE_MILLIS);
            } catch (Exception e) {
                sends.add(new Sent(body, began, System.nanoTime(), null));
                System.out.println("failed: " + e);
            }
        }
    }

    /** Waits until everything that was acknowledged has been received; what has not. */
    private long waitForAll() throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        long missing = 1;
        while (missing > 0 && System.nanoTime() < end) {
            Thread.sleep(50);
            missing = sends.stream().filter(one -> one.broker != null && !received.containsKey(one.body)).count();
        }
        return missing;
    }

    private void report(long killed, long missing) {
        long failed = 0;
        long slowest = 0;
        long disturbed = 0;
        long lastOld = 0;
        long old = 0;
        List<Long> acknowledged = new ArrayList<>();
        List<Long> deliveries = new ArrayList<>();
        for (Sent one : sends) {
            if (one.broker != null) {
                acknowledged.add(one.ended);
                Long at = received.get(one.body);
                if (at != null && one.broker.equals(broker) && at > killed) {
                    old++;
                    lastOld = Math.max(lastOld, at - killed);
                }
                if (at != null && !one.broker.equals(broker)) {
                    deliveries.add(at);
                }
            }
            if (one.ended > killed && (one.broker == null || one.ended - one.began > SLOW_NANOS)) {
                failed += one.broker == null ? 1 : 0;
                slowest = Math.max(slowest, one.ended - one.began);
                disturbed = Math.max(disturbed, one.ended - killed);
            }
        }
        System.out.printf(
            "{\"sent\":%d,\"failed\":%d,\"slowestMillis\":%.1f,\"disturbedMillis\":%.1f,\"noSendMillis\":%.1f,"
                + "\"firstReadMillis\":%.1f,\"oldRead\":%d,\"lastOldMillis\":%.1f,\"missing\":%d,\"repeated\":%d}%n",
            acknowledged.size(), failed, slowest / 1e6, disturbed / 1e6, longestGap(acknowledged, killed) / 1e6,
            firstAfter(deliveries, killed) / 1e6, old, lastOld / 1e6, missing, repeated);
        System.out.flush();
    }

    /** The longest time without any event that ended after a moment. */
    private static long longestGap(List<Long> times, long after) {
        Collections.sort(times);
        long longest = 0;
        for (int i = 1; i < times.size(); i++) {
            if (times.get(i) > after) {
                longest = Math.max(longest, times.get(i) - times.get(i - 1));
            }
        }
        return longest;
    }

    private static long firstAfter(List<Long> times, long moment) {
        return times.stream().filter(time -> time > moment).mapToLong(time -> time - moment).min().orElse(-1);
    }
}
