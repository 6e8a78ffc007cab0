package compat;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;

/**
 * Reads bodies as the standard does. Each line of standard input is a class's name, a tab and JSON; each line of the
 * output is "read", a tab and the JSON of what was read, or "refused", a tab and the error.
 */
public final class Bodies {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", 2);
            out.println(answer(Class.forName(parts[0]), parts[1].getBytes(StandardCharsets.UTF_8)));
        }
    }

    private static String answer(Class<?> type, byte[] json) {
        try {
            return "read\t" + RemotingSerializable.toJson(RemotingSerializable.decode(json, type), false);
        } catch (Throwable error) {
            return "refused\t" + String.valueOf(error).replaceAll("\\s+", " ");
        }
    }
}
