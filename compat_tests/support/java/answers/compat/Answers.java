package compat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.compression.CompressorFactory;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.NamespaceUtil;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;

/** What the official client answers to a fixed set of questions; printed as JSON. */
public final class Answers {
    private static final int[] QUEUES = {1, 2, 3, 5, 9, 10, 16};
    private static final int[] MEMBERS = {1, 2, 3, 4, 11};

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> answers = new TreeMap<>();
        answers.put("allocations", allocations());
        answers.put("signatures", signatures());
        answers.put("hashes", hashes());
        answers.put("namespaces", namespaces());
        answers.put("compressed", compressed());
        System.out.println(RemotingSerializable.toJson(answers, false));
    }

    /** By strategy, then "queues/members": for each member the places of its queues in the sorted list. */
    private static Map<String, Object> allocations() {
        AllocateMessageQueueByMachineRoom room = new AllocateMessageQueueByMachineRoom();
        room.setConsumeridcs(new HashSet<>(Collections.singletonList("east")));
        List<AllocateMessageQueueStrategy> strategies = Arrays.asList(
            new AllocateMessageQueueAveragely(),
            new AllocateMessageQueueAveragelyByCircle(),
            room,
            new AllocateMachineRoomNearby(new AllocateMessageQueueAveragely(), new Rooms()),
            new AllocateMessageQueueConsistentHash());
        Map<String, Object> byStrategy = new TreeMap<>();
        for (AllocateMessageQueueStrategy strategy : strategies) {
            Map<String, Object> table = new TreeMap<>();
            for (int queues : QUEUES) {
                for (int members : MEMBERS) {
                    table.put(queues + "/" + members, allocate(strategy, queues(queues), members(members)));
                }
            }
            byStrategy.put(strategy.getName(), table);
        }
        return byStrategy;
    }

    private static List<Object> allocate(
        AllocateMessageQueueStrategy strategy, List<MessageQueue> queues, List<String> members) {
        List<Object> shares = new ArrayList<>();
        for (String member : members) {
            List<Integer> share = new ArrayList<>();
            for (MessageQueue queue : strategy.allocate("group", member, queues, members)) {
                share.add(queues.indexOf(queue));
            }
            shares.add(share);
        }
        return shares;
    }

    private static List<MessageQueue> queues(int count) {
        String[] brokers = {"east@broker-a", "north@broker-c", "west@broker-b"};
        List<MessageQueue> queues = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            queues.add(new MessageQueue("Topic", brokers[number % brokers.length], number));
        }
        Collections.sort(queues);
        return queues;
    }

    private static List<String> members(int count) {
        String[] rooms = {"east", "west"};
        List<String> members = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            members.add("10.0.0." + number + "@" + rooms[number % rooms.length]);
        }
        Collections.sort(members);
        return members;
    }

    private static final class Rooms implements AllocateMachineRoomNearby.MachineRoomResolver {
        @Override
        public String brokerDeployIn(MessageQueue queue) {
            return queue.getBrokerName().split("@")[0];
        }

        @Override
        public String consumerDeployIn(String clientId) {
            return clientId.split("@")[1];
        }
    }

    /** Each: fields, body, secret key, token, signature. */
    private static List<Object> signatures() {
        List<Object> signatures = new ArrayList<>();
        String[] tokens = {null, "a token"};
        String[] bodies = {null, "", "the body, with \u00fcml\u00e4uts"};
        for (String token : tokens) {
            for (String body : bodies) {
                RemotingCommand command = RemotingCommand.createRequestCommand(310, null);
                command.addExtField("topic", "T\u00f6pic");
                command.addExtField("b", "2");
                command.addExtField("A", "1");
                Map<String, String> fields = new TreeMap<>(command.getExtFields());
                command.setBody(body == null ? null : body.getBytes(StandardCharsets.UTF_8));
                new AclClientRPCHook(new SessionCredentials("access", "a secret key", token))
                    .doBeforeRequest("127.0.0.1:1", command);
                Map<String, Object> one = new TreeMap<>();
                one.put("fields", fields);
                one.put("body", body == null ? "" : body);
                one.put("token", token == null ? "" : token);
                one.put("signed", new TreeMap<>(command.getExtFields()));
                signatures.add(one);
            }
        }
        return signatures;
    }

    /** The place of the queue that is chosen among ten. */
    private static Map<String, Object> hashes() {
        Object[] arguments = {"order-1", "", "\u00fcber", "polygenelubricants", 7, -7, Integer.MIN_VALUE, 1L << 40, true};
        List<MessageQueue> queues = queues(10);
        Map<String, Object> chosen = new TreeMap<>();
        for (Object argument : arguments) {
            String name = argument.getClass().getSimpleName() + " " + argument;
            chosen.put(name, queues.indexOf(new SelectMessageQueueByHash().select(queues, null, argument)));
        }
        return chosen;
    }

    private static Map<String, Object> namespaces() {
        String[] names = {
            "T", "ns%T", "%RETRY%G", "%RETRY%ns%G", "%DLQ%G", "TBW102", "CID_RMQ_SYS_X", "other%T", "rmq_sys_x"};
        Map<String, Object> both = new TreeMap<>();
        for (String name : names) {
            both.put(name, Arrays.asList(
                NamespaceUtil.wrapNamespace("ns", name), NamespaceUtil.withoutNamespace(name, "ns")));
        }
        return both;
    }

    /** The same text by each compressor, in base64. */
    private static Map<String, Object> compressed() throws Exception {
        byte[] text = String.join("", Collections.nCopies(50, "again and ")).getBytes(StandardCharsets.UTF_8);
        Map<String, Object> byKind = new TreeMap<>();
        for (CompressionType kind : CompressionType.values()) {
            byte[] small = CompressorFactory.getCompressor(kind).compress(text, 5);
            byKind.put(kind.name(), Arrays.asList(
                kind.getCompressionFlag(), Base64.getEncoder().encodeToString(small)));
        }
        return byKind;
    }
}
