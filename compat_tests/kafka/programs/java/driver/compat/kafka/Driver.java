package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Runs a Kafka client as requests on standard input say: a JSON object a line, answered by another. */
public final class Driver {
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    private Driver() {
    }

    public static void main(String[] args) throws Exception {
        Requests.serve(Driver::run);
    }

    private static Object run(JsonNode request) throws Exception {
        String op = request.get("op").asText();
        switch (op) {
            case "produce":
                return Records.produce(request);
            case "consume":
                return Records.consume(request);
            case "offset":
                return Records.offset(request);
            case "join":
                MEMBERS.put(request.get("name").asText(), new Member(request));
                return null;
            case "taken":
                return member(request).taken();
            case "commit":
                return member(request).commit();
            case "leave":
                return MEMBERS.remove(request.get("name").asText()).leave();
            default:
                throw new IllegalArgumentException(op);
        }
    }

    private static Member member(JsonNode request) {
        return MEMBERS.get(request.get("name").asText());
    }
}
