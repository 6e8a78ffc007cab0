package compat;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.broker.filter.MessageEvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;
import org.apache.rocketmq.filter.expression.MQFilterException;
import org.apache.rocketmq.filter.parser.SelectorParser;

/**
 * Says what SQL92 expressions mean to the official broker: one {"expression", "properties"} a line on standard
 * input, one answer a line on standard output: {"result": true, false, null or "fails"}, or {"refused": text}.
 */
public final class Judge {
    private Judge() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        BufferedReader cases = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            answers.println(JSON.toJSONString(judge(JSON.parseObject(line)),
                com.alibaba.fastjson.serializer.SerializerFeature.WriteMapNullValue));
        }
    }

    private static Map<String, Object> judge(JSONObject request) {
        Map<String, Object> answer = new LinkedHashMap<>();
        Expression expression;
        try {
            expression = SelectorParser.parse(request.getString("expression"));
        } catch (MQFilterException refusal) {
            answer.put("refused", refusal.getMessage());
            return answer;
        }
        Map<String, String> properties = new LinkedHashMap<>();
        JSONObject given = request.getJSONObject("properties");
        given.keySet().forEach(name -> properties.put(name, given.getString(name)));
        try {
            answer.put("result", expression.evaluate(new MessageEvaluationContext(properties)));
        } catch (Throwable failure) {
            answer.put("result", "fails");
        }
        return answer;
    }
}
