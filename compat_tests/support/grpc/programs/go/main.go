// Drives the official Go client of version 5 from outside: one request a line on standard input, one answer a
// line on standard output, both JSON. Requests, operations and shapes are those of the program that drives the
// Java client, java/driver. Whether its clients speak TLS is decided for the whole process, by the environment.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
)

// operation is one thing that can be asked for.
type operation func(*request) (any, error)

// request is what any operation may be given; each reads its own part. Times are in ms.
type request struct {
	ID        int64  `json:"id"`
	Op        string `json:"op"`
	Name      string `json:"name"`
	Endpoints string `json:"endpoints"`
	TLS       bool   `json:"tls"`
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Lite      string `json:"lite"`

	Topics        []string          `json:"topics"`
	Subscriptions map[string]wanted `json:"subscriptions"`
	Await         int64             `json:"await"`
	FailFirst     int               `json:"failFirst"`
	Refuse        []string          `json:"refuse"`

	Messages   []message `json:"messages"`
	Message    message   `json:"message"`
	Resolution string    `json:"resolution"`
	Handle     string    `json:"handle"`
	Bodies     []string  `json:"bodies"`
	State      string    `json:"state"`
	Threads    int       `json:"threads"`

	Max       int32   `json:"max"`
	Invisible int64   `json:"invisible"`
	Receipt   int64   `json:"receipt"`
	Receipts  []int64 `json:"receipts"`
	Count     int     `json:"count"`
	Millis    int64   `json:"millis"`
}

func main() {
	dialPatiently()
	operations := map[string]operation{}
	newProducers().register(operations)
	newSimpleConsumers().register(operations)
	newPushConsumers().register(operations)

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
	shape := map[string]any{"id": asked.ID}
	result, err := run(operations, asked)
	if err != nil {
		failure := map[string]any{"type": fmt.Sprintf("%T", err), "message": err.Error()}
		if status, told := rocketmq.AsErrRpcStatus(err); told {
			failure["code"] = status.GetCode()
		}
		shape["error"] = failure
	} else {
		shape["result"] = result
	}
	line, err := json.Marshal(shape)
	if err != nil {
		panic(err)
	}
	return line
}

func run(operations map[string]operation, asked *request) (any, error) {
	found, exists := operations[asked.Op]
	if !exists {
		return nil, fmt.Errorf("no such operation: %s", asked.Op)
	}
	return found(asked)
}

// table keeps clients by the names that requests give them.
type table[T any] struct {
	lock  sync.Mutex
	found map[string]T
}

func newTable[T any]() *table[T] {
	return &table[T]{found: map[string]T{}}
}

func (t *table[T]) put(name string, client T) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.found[name] = client
}

func (t *table[T]) get(name string) (T, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	client, exists := t.found[name]
	if !exists {
		return client, fmt.Errorf("no such client: %s", name)
	}
	return client, nil
}

func (t *table[T]) take(name string) (T, error) {
	client, err := t.get(name)
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.found, name)
	return client, err
}
