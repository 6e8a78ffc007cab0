package main

import (
	"context"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// batchSize is how many messages a pull consumer asks for in the background; unless told, the client asks for none.
const batchSize = 32

var pullStatuses = map[primitive.PullStatus]string{
	primitive.PullFound:         "FOUND",
	primitive.PullNoNewMsg:      "NO_NEW_MSG",
	primitive.PullNoMsgMatched:  "NO_MATCHED_MSG",
	primitive.PullOffsetIllegal: "OFFSET_ILLEGAL",
	primitive.PullBrokerTimeout: "TIMEOUT",
}

// pullConsumers has pull consumers: queues read at will, messages polled and acknowledged.
type pullConsumers struct {
	table *table
}

func newPullConsumers() *pullConsumers {
	return &pullConsumers{newTable()}
}

func (p *pullConsumers) register(operations map[string]operation) {
	operations["pull.start"] = p.start
	operations["pull.stop"] = p.with(func(found rocketmq.PullConsumer, asked *request) (interface{}, error) {
		p.table.take(asked.Name)
		return true, found.Shutdown()
	})
	operations["pull.pull"] = p.with(pull)
	operations["pull.poll"] = p.with(poll)
	operations["pull.fetchOffset"] = p.with(func(found rocketmq.PullConsumer, asked *request) (interface{}, error) {
		return found.CurrentOffset(asked.Queue.made())
	})
	operations["pull.updateOffset"] = p.with(func(found rocketmq.PullConsumer, asked *request) (interface{}, error) {
		return true, found.UpdateOffset(asked.Queue.made(), asked.Offset)
	})
	operations["pull.persist"] = p.with(func(found rocketmq.PullConsumer, asked *request) (interface{}, error) {
		return true, found.PersistOffset(context.Background(), asked.Topic)
	})
}

func (p *pullConsumers) with(do func(rocketmq.PullConsumer, *request) (interface{}, error)) operation {
	return func(asked *request) (interface{}, error) {
		found, err := p.table.get(asked.Name)
		if err != nil {
			return nil, err
		}
		return do(found.(rocketmq.PullConsumer), asked)
	}
}

func (p *pullConsumers) start(asked *request) (interface{}, error) {
	made, err := rocketmq.NewPullConsumer(
		consumer.WithNameServer(primitive.NamesrvAddr{asked.Namesrv}),
		consumer.WithInstance(clientName(asked)),
		consumer.WithGroupName(asked.Group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithPullBatchSize(batchSize),
	)
	if err != nil {
		return nil, err
	}
	if err := made.Subscribe(asked.Topic, consumer.MessageSelector(asked.Expression)); err != nil {
		return nil, err
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	p.table.put(asked.Name, made)
	return clientName(asked), nil
}

func pull(found rocketmq.PullConsumer, asked *request) (interface{}, error) {
	result, err := found.PullFrom(context.Background(), asked.Queue.made(), asked.Offset, asked.Max)
	if err != nil {
		return nil, err
	}
	messages := []interface{}{}
	for _, each := range result.GetMessageExts() {
		messages = append(messages, received(each))
	}
	return map[string]interface{}{
		"status":          pullStatuses[result.Status],
		"nextBeginOffset": result.NextBeginOffset,
		"minOffset":       result.MinOffset,
		"maxOffset":       result.MaxOffset,
		"messages":        messages,
	}, nil
}

// poll polls until at least count messages came or the time is over, and acknowledges them.
func poll(found rocketmq.PullConsumer, asked *request) (interface{}, error) {
	end := time.Now().Add(time.Duration(asked.Millis) * time.Millisecond)
	messages := []interface{}{}
	for len(messages) < asked.Count && time.Now().Before(end) {
		polled, err := found.Poll(context.Background(), time.Until(end))
		if consumer.IsNoNewMsgError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, each := range polled.GetMsgList() {
			messages = append(messages, received(each))
		}
		found.ACK(context.Background(), polled, consumer.ConsumeSuccess)
	}
	return messages, nil
}
