package main

import (
	"context"
	"fmt"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// callbackTime is what all callbacks of asynchronous sends may take.
const callbackTime = 30 * time.Second

// producers has every way to send.
type producers struct {
	table *table
}

func newProducers() *producers {
	return &producers{newTable()}
}

func (p *producers) register(operations map[string]operation) {
	operations["producer.start"] = p.start
	operations["producer.stop"] = p.stop
	operations["producer.send"] = p.send
}

// chooser sends to the queue that a message names, else by its sharding key, else to one after the other.
type chooser struct {
	named, hashed, turns producer.QueueSelector
}

func (c *chooser) Select(m *primitive.Message, queues []*primitive.MessageQueue, last string) *primitive.MessageQueue {
	switch {
	case m.Queue != nil:
		return c.named.Select(m, queues, last)
	case m.GetShardingKey() != "":
		return c.hashed.Select(m, queues, last)
	default:
		return c.turns.Select(m, queues, last)
	}
}

// sendTimeout is longer than a busy machine needs for its slowest answer.
const sendTimeout = 30 * time.Second

func producerOptions(asked *request) []producer.Option {
	return []producer.Option{
		producer.WithNameServer(primitive.NamesrvAddr{asked.Namesrv}),
		producer.WithInstanceName(clientName(asked)),
		producer.WithGroupName(asked.Group),
		producer.WithSendMsgTimeout(sendTimeout),
		producer.WithQueueSelector(&chooser{
			producer.NewManualQueueSelector(), producer.NewHashQueueSelector(), producer.NewRoundRobinQueueSelector(),
		}),
	}
}

// clientName tells clients of one machine apart.
func clientName(asked *request) string {
	return asked.Name + "#" + process
}

func (p *producers) start(asked *request) (interface{}, error) {
	made, err := rocketmq.NewProducer(producerOptions(asked)...)
	if err != nil {
		return nil, err
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	p.table.put(asked.Name, made)
	return clientName(asked), nil
}

func (p *producers) stop(asked *request) (interface{}, error) {
	found, err := p.table.take(asked.Name)
	if err != nil {
		return nil, err
	}
	return true, found.(rocketmq.Producer).Shutdown()
}

func (p *producers) send(asked *request) (interface{}, error) {
	found, err := p.table.get(asked.Name)
	if err != nil {
		return nil, err
	}
	sender, messages := found.(rocketmq.Producer), madeOf(asked.Messages)
	for i, each := range messages {
		if asked.How == "queue" {
			each.Queue = asked.Queue.made()
		} else if asked.How == "selector" {
			each.WithShardingKey(asked.Messages[i].Keys)
		}
	}
	switch asked.How {
	case "sync", "queue", "selector":
		return sendEach(sender, messages)
	case "async":
		return sendAsync(sender, messages)
	case "oneway":
		for _, each := range messages {
			if err := sender.SendOneWay(context.Background(), each); err != nil {
				return nil, err
			}
		}
		return []interface{}{}, nil
	case "batch":
		result, err := sender.SendSync(context.Background(), messages...)
		if err != nil {
			return nil, err
		}
		return []interface{}{sent(result)}, nil
	default:
		return nil, fmt.Errorf("no such way to send: %s", asked.How)
	}
}

func sendEach(sender rocketmq.Producer, messages []*primitive.Message) (interface{}, error) {
	results := []interface{}{}
	for _, each := range messages {
		result, err := sender.SendSync(context.Background(), each)
		if err != nil {
			return nil, err
		}
		results = append(results, sent(result))
	}
	return results, nil
}

func sendAsync(sender rocketmq.Producer, messages []*primitive.Message) (interface{}, error) {
	type outcome struct {
		number int
		result *primitive.SendResult
		err    error
	}
	outcomes := make(chan outcome, len(messages))
	for i, each := range messages {
		number := i
		callback := func(_ context.Context, result *primitive.SendResult, err error) {
			outcomes <- outcome{number, result, err}
		}
		if err := sender.SendAsync(context.Background(), callback, each); err != nil {
			return nil, err
		}
	}
	results := make([]interface{}, len(messages))
	end := time.After(callbackTime)
	for range messages {
		select {
		case one := <-outcomes:
			if one.err != nil {
				return nil, one.err
			}
			results[one.number] = sent(one.result)
		case <-end:
			return nil, fmt.Errorf("callbacks are missing")
		}
	}
	return results, nil
}
