package org.apache.kafka.common.test.junit;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.opentest4j.TestAbortedException;

/** The process that runs servers: a request and an answer a line. */
public final class Servers {
    private static Servers shared;

    private final BufferedWriter requests;
    private final BufferedReader answers;

    private Servers(String[] command) {
        try {
            ProcessBuilder builder = new ProcessBuilder(command);
            builder.redirectError(ProcessBuilder.Redirect.INHERIT);
            Process process = builder.start();
            requests = new BufferedWriter(
                new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
            answers = new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the process, which is started when it is first needed. */
    public static synchronized Servers shared() {
        if (shared == null) {
            shared = new Servers(System.getProperty("compat.servers").split("\n"));
        }
        return shared;
    }

    /**
     * Starts brokers with settings of Kafka; returns the number of the cluster, and the brokers' addresses
     * between commas. Settings with control characters are left out, as they do not fit into a line.
     */
    public String[] start(int brokers, Map<String, String> settings) {
        List<String> words = new ArrayList<>(List.of("start", String.valueOf(brokers)));
        settings.forEach((name, value) -> {
            if (value.chars().noneMatch(Character::isISOControl)) {
                words.add(name + "=" + value);
            }
        });
        return call(words.toArray(new String[0])).split(" ");
    }

    /** Returns the answer to a request; what the server lacks aborts the test. */
    public synchronized String call(String... words) {
        try {
            requests.write(String.join("\t", words));
            requests.newLine();
            requests.flush();
            String answer = answers.readLine();
            if (answer == null || answer.startsWith("error ")) {
                throw new IllegalStateException(words[0] + ": " + answer);
            }
            if (answer.startsWith("needs ")) {
                throw new TestAbortedException(answer);
            }
            return answer;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
