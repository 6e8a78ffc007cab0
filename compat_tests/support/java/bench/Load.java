package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * A load on one server with the official client: one kind of work a run, one line of JSON as result.
 *
 * <p>Usage: Load KIND NAMESRV TOPIC SECONDS THREADS BODY_BYTES [TOPICS], where KIND is sync, async, batch,
 * transactions, delay, latency, fan-out, fill, fill-mixed, consume, consume-tag, consume-sql or consume-pop. SECONDS
 * counts after the warm-up; for fills and consuming it is a number of messages. With TOPICS sends go to so many
 * topics in turn, TOPIC_0 and the next ones, which must be there. Sends are signed where the properties
 * bench.accessKey and bench.secretKey say by whom.
 *
 * <p>Lines with "mark" say when the measured part begins and ends. What the server took and does not have
 * in the end, or gave too often, counts as failed.
 */
public final class Load {
    private static final int FIRST_SENDS = 20;
    private static final int ASKING_THREADS = 16;
    private static final int DISPATCH_MILLIS = 300;
    private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(15);

    final String nameServer;
    final String topic;
    final long amount;
    final int threads;
    final byte[] body;
    final String[] topics;
    final AtomicLong failed = new AtomicLong();
    /** Messages that the server took, those before the measured part included. */
    final AtomicLong sent = new AtomicLong();
    private final boolean isPrepared;
    private long before;

    private Load(String[] args) {
        nameServer = args[1];
        topic = args[2];
        amount = Long.parseLong(args[3]);
        threads = Integer.parseInt(args[4]);
        body = new byte[Integer.parseInt(args[5])];
        Arrays.fill(body, (byte) 'x');
        isPrepared = args.length > 6;
        topics = isPrepared
            ? IntStream.range(0, Integer.parseInt(args[6])).mapToObj(n -> topic + "_" + n).toArray(String[]::new)
            : new String[] {topic};
    }

    public static void main(String[] args) {
        int status = 0;
        try {
            run(args);
        } catch (Throwable failure) {
            failure.printStackTrace();
            status = 1;
        }
        System.exit(status);  // threads of the client may still run
    }

    private static void run(String[] args) throws Exception {
        Load load = new Load(args);
        switch (args[0]) {
            case "sync": new Sends(load).sync(1); break;
            case "batch": new Sends(load).sync(Sends.BATCH); break;
            case "async": new Sends(load).async(); break;
            case "fill": new Sends(load).fill(); break;
            case "fill-mixed": new Sends(load).fillMixed(); break;
            case "transactions": new Transactions(load).run(); break;
            case "delay": new Delays(load).run(); break;
            case "fan-out": new Consuming(load).fanOut(); break;
            case "latency": new Consuming(load).latency(); break;
            case "consume": new Consuming(load).consume("*"); break;
            case "consume-pop": new Consuming(load).pop(); break;
            case "consume-tag": new Consuming(load).consume(Sends.PASSING_TAG); break;
            case "consume-sql": new Consuming(load).consumeSql(); break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }

    DefaultMQProducer producer() throws Exception {
        String accessKey = System.getProperty("bench.accessKey");
        RPCHook signing = accessKey == null ? null
            : new AclClientRPCHook(new SessionCredentials(accessKey, System.getProperty("bench.secretKey")));
        return started(new DefaultMQProducer("bench_producer", signing));
    }

    /** Sets a producer as all loads have it, starts it and sends what comes before every figure. */
    <P extends DefaultMQProducer> P started(P producer) throws Exception {
        producer.setNamesrvAddr(nameServer);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.setSendMsgTimeout(10000);
        producer.setMqClientApiTimeout(10000);
        // All routes at once, in the middle of a run, are not what is measured.
        producer.setPollNameServerInterval((int) TimeUnit.MINUTES.toMillis(10));
        producer.start();
        if (isPrepared) {
            producer.send(new Message(topics[0], body));
            Thread.sleep(DISPATCH_MILLIS);
            before = stored(producer);
            inParallel(topics.length, n -> producer.send(new Message(topics[n], body)));
            sent.addAndGet(topics.length);
        } else {
            // The first sends create the topic.
            for (int i = 0; i < FIRST_SENDS; i++) {
                producer.send(new Message(topic, body));
            }
            sent.addAndGet(FIRST_SENDS);
        }
        return producer;
    }

    /** Messages in all queues of all topics; these have the same queues. */
    long stored(DefaultMQProducer producer) throws Exception {
        List<MessageQueue> queues = producer.fetchPublishMessageQueues(topics[0]);
        AtomicLong stored = new AtomicLong();
        inParallel(topics.length, n -> {
            for (MessageQueue queue : queues) {
                MessageQueue own = new MessageQueue(topics[n], queue.getBrokerName(), queue.getQueueId());
                stored.addAndGet(producer.maxOffset(own));
            }
        });
        return stored.get();
    }

    /** Waits until the server has all that it took; what it has not got by then has failed. */
    void settle(DefaultMQProducer producer) throws Exception {
        long end = System.nanoTime() + SETTLE_NANOS;
        long missing = sent.get() - (stored(producer) - before);
        while (missing > 0 && System.nanoTime() < end) {
            Thread.sleep(5);
            missing = sent.get() - (stored(producer) - before);
        }
        failed.addAndGet(Math.max(0, missing));
    }

    /** Work that may throw. */
    interface Work {
        void at(int number) throws Exception;
    }

    private static void inParallel(int count, Work work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(Math.min(count, ASKING_THREADS));
        List<Future<?>> all = new ArrayList<>(count);
        for (int n = 0; n < count; n++) {
            int number = n;
            all.add(pool.submit(() -> {
                work.at(number);
                return null;
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
        pool.shutdown();
    }

    static long warmUpNanos(long seconds) {
        return TimeUnit.SECONDS.toNanos(Math.max(2, seconds / 3));
    }

    /** Tells the harness when the measured part begins or ends, so that it takes CPU time there. */
    static void mark(String what, long at) {
        long inMillis = Math.max(0, (at - System.nanoTime()) / 1_000_000);
        System.out.println("{\"mark\":\"" + what + "\",\"inMillis\":" + inMillis + "}");
        System.out.flush();
    }

    void report(String work, List<long[]> parts, int perSend, double seconds) {
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
