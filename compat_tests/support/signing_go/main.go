// The official Go client with credentials, driven from outside in lines of JSON as the driver is.
//
// Each request makes a client of its own that signs with what the request brings, {"accessKey", "secretKey"} or
// nothing, does one thing with it and ends it. An error is {"errors": [{"type", "message"}]}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// waitTime is what one thing may take.
const waitTime = 30 * time.Second

type request struct {
	ID        int64  `json:"id"`
	Op        string `json:"op"`
	Namesrv   string `json:"namesrv"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`
	Topic     string `json:"topic"`
	Broker    string `json:"broker"`
	Group     string `json:"group"`
	Body      string `json:"body"`
	Millis    int64  `json:"millis"`
}

var count int64

// name tells clients of this program apart.
func name() string {
	return fmt.Sprintf("signing-%d-%d", os.Getpid(), atomic.AddInt64(&count, 1))
}

func main() {
	var writing sync.Mutex
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		asked := &request{}
		if err := json.Unmarshal(lines.Bytes(), asked); err != nil {
			fmt.Fprintln(os.Stderr, "not a request:", err)
			os.Exit(1)
		}
		go func() {
			result, err := run(asked)
			if err != nil {
				error := map[string]string{"type": fmt.Sprintf("%T", err), "message": err.Error()}
				result = map[string]interface{}{"errors": []interface{}{error}}
			}
			line, err := json.Marshal(map[string]interface{}{"id": asked.ID, "result": result})
			if err != nil {
				panic(err)
			}
			writing.Lock()
			defer writing.Unlock()
			os.Stdout.Write(append(line, '\n'))
		}()
	}
}

func run(asked *request) (interface{}, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	switch asked.Op {
	case "sync", "async":
		return send(ctx, asked)
	case "transaction":
		return transact(ctx, asked)
	case "pull":
		return pull(ctx, asked)
	case "push":
		return push(asked)
	default:
		return nil, fmt.Errorf("no such operation: %s", asked.Op)
	}
}

func (r *request) message() *primitive.Message {
	return primitive.NewMessage(r.Topic, []byte(r.Body))
}

func (r *request) credentials() primitive.Credentials {
	return primitive.Credentials{AccessKey: r.AccessKey, SecretKey: r.SecretKey}
}

func (r *request) producerOptions() []producer.Option {
	options := []producer.Option{
		producer.WithNameServer(primitive.NamesrvAddr{r.Namesrv}),
		producer.WithInstanceName(name()),
		producer.WithGroupName("signers"),
	}
	if r.AccessKey != "" {
		options = append(options, producer.WithCredentials(r.credentials()))
	}
	return options
}

func (r *request) consumerOptions() []consumer.Option {
	options := []consumer.Option{
		consumer.WithNameServer(primitive.NamesrvAddr{r.Namesrv}),
		consumer.WithInstance(name()),
		consumer.WithGroupName(r.Group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}
	if r.AccessKey != "" {
		options = append(options, consumer.WithCredentials(r.credentials()))
	}
	return options
}

func send(ctx context.Context, asked *request) (interface{}, error) {
	made, err := rocketmq.NewProducer(asked.producerOptions()...)
	if err != nil {
		return nil, err
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	defer made.Shutdown()
	if asked.Op == "sync" {
		return status(made.SendSync(ctx, asked.message()))
	}
	type outcome struct {
		result *primitive.SendResult
		err    error
	}
	outcomes := make(chan outcome, 1)
	err = made.SendAsync(ctx, func(_ context.Context, result *primitive.SendResult, err error) {
		outcomes <- outcome{result, err}
	}, asked.message())
	if err != nil {
		return nil, err
	}
	select {
	case one := <-outcomes:
		return status(one.result, one.err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func status(result *primitive.SendResult, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	return map[primitive.SendStatus]string{primitive.SendOK: "SEND_OK"}[result.Status], nil
}

// committer commits every transaction.
type committer struct{}

func (committer) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	return primitive.CommitMessageState
}

func (committer) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
	return primitive.CommitMessageState
}

func transact(ctx context.Context, asked *request) (interface{}, error) {
	made, err := rocketmq.NewTransactionProducer(committer{}, asked.producerOptions()...)
	if err != nil {
		return nil, err
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	defer made.Shutdown()
	result, err := made.SendMessageInTransaction(ctx, asked.message())
	if err != nil {
		return nil, err
	}
	return status(result.SendResult, nil)
}

func pull(ctx context.Context, asked *request) (interface{}, error) {
	made, err := rocketmq.NewPullConsumer(asked.consumerOptions()...)
	if err != nil {
		return nil, err
	}
	if err := made.Subscribe(asked.Topic, consumer.MessageSelector{}); err != nil {
		return nil, err
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	defer made.Shutdown()
	queue := primitive.MessageQueue{Topic: asked.Topic, BrokerName: asked.Broker}
	result, err := made.PullFrom(ctx, &queue, 0, 1)
	if err != nil {
		return nil, err
	}
	return map[primitive.PullStatus]string{primitive.PullFound: "FOUND", primitive.PullNoNewMsg: "NO_NEW_MSG"}[result.Status], nil
}

// push waits so many milliseconds for one message; its body, or nothing.
func push(asked *request) (interface{}, error) {
	made, err := rocketmq.NewPushConsumer(asked.consumerOptions()...)
	if err != nil {
		return nil, err
	}
	bodies := make(chan string, 1)
	keep := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		select {
		case bodies <- string(messages[0].Body):
		default:
		}
		return consumer.ConsumeSuccess, nil
	}
	if err := made.Subscribe(asked.Topic, consumer.MessageSelector{}, keep); err != nil {
		return nil, err
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	defer made.Shutdown()
	select {
	case body := <-bodies:
		return body, nil
	case <-time.After(time.Duration(asked.Millis) * time.Millisecond):
		return "nothing", nil
	}
}
