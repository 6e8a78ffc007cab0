// Drives the official Go client from outside: one request a line on standard input, one answer a line on
// standard output, both JSON. Operations and shapes are those of the program that drives the Java client.
//
// A request is {"id": N, "op": NAME, ...}; its answer {"id": N, "result": ...} or {"id": N, "error": {"type",
// "code", "message"}}. Each request has a goroutine of its own, so a request that waits holds up nobody. The end
// of standard input ends the program.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// operation is one thing that can be asked for.
type operation func(*request) (interface{}, error)

// request is what any operation may be given; each reads its own part.
type request struct {
	ID      int64  `json:"id"`
	Op      string `json:"op"`
	Name    string `json:"name"`
	Namesrv string `json:"namesrv"`
	Group   string `json:"group"`
	Topic   string `json:"topic"`
	Broker  string `json:"broker"`

	Messages []message `json:"messages"`
	Message  message   `json:"message"`
	How      string    `json:"how"`
	Queue    *queue    `json:"queue"`
	Queues   int       `json:"queues"`

	Subscriptions     map[string]wanted `json:"subscriptions"`
	Expression        wanted            `json:"expression"`
	Listener          string            `json:"listener"`
	Model             string            `json:"model"`
	From              string            `json:"from"`
	MaxReconsumeTimes *int32            `json:"maxReconsumeTimes"`
	FailFirst         int               `json:"failFirst"`
	RetryLevel        int               `json:"retryLevel"`

	Offset int64 `json:"offset"`
	Max    int   `json:"max"`
	Count  int   `json:"count"`
	Millis int64 `json:"millis"`
	TTL    int64 `json:"ttl"`

	State  string   `json:"state"`
	Bodies []string `json:"bodies"`
}

func main() {
	operations := map[string]operation{}
	newProducers().register(operations)
	newTransactions().register(operations)
	newPushConsumers().register(operations)
	newPullConsumers().register(operations)
	newRepliers().register(operations)
	newAdmins().register(operations)

	var writing sync.Mutex
	answers := bufio.NewWriter(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for lines.Scan() {
		asked := &request{}
		if err := json.Unmarshal(lines.Bytes(), asked); err != nil {
			fmt.Fprintln(os.Stderr, "not a request:", err)
			os.Exit(1)
		}
		go func() {
			line := answer(operations, asked)
			writing.Lock()
			defer writing.Unlock()
			answers.Write(append(line, '\n'))
			answers.Flush()
		}()
	}
}

func answer(operations map[string]operation, asked *request) []byte {
	shape := map[string]interface{}{"id": asked.ID}
	result, err := run(operations, asked)
	if err != nil {
		shape["error"] = map[string]interface{}{"type": fmt.Sprintf("%T", err), "message": err.Error()}
	} else {
		shape["result"] = result
	}
	line, err := json.Marshal(shape)
	if err != nil {
		panic(err)
	}
	return line
}

func run(operations map[string]operation, asked *request) (interface{}, error) {
	found, exists := operations[asked.Op]
	if !exists {
		return nil, fmt.Errorf("no such operation: %s", asked.Op)
	}
	return found(asked)
}
