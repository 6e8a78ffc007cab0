package main

import (
	"context"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var models = map[string]consumer.MessageModel{
	"CLUSTERING":   consumer.Clustering,
	"BROADCASTING": consumer.BroadCasting,
}

var beginnings = map[string]consumer.ConsumeFromWhere{
	"CONSUME_FROM_FIRST_OFFSET": consumer.ConsumeFromFirstOffset,
	"CONSUME_FROM_LAST_OFFSET":  consumer.ConsumeFromLastOffset,
}

// pushConsumers has push consumers, concurrent and ordered; each keeps what it received in an inbox.
type pushConsumers struct {
	table *table
}

type pushConsumer struct {
	consumer rocketmq.PushConsumer
	inbox    *inbox
}

func newPushConsumers() *pushConsumers {
	return &pushConsumers{newTable()}
}

func (p *pushConsumers) register(operations map[string]operation) {
	operations["push.start"] = p.start
	operations["push.stop"] = p.stop
	operations["push.collect"] = p.collect
}

func (p *pushConsumers) start(asked *request) (interface{}, error) {
	options := []consumer.Option{
		consumer.WithNameServer(primitive.NamesrvAddr{asked.Namesrv}),
		consumer.WithInstance(clientName(asked)),
		consumer.WithGroupName(asked.Group),
		consumer.WithConsumerModel(models[asked.Model]),
		consumer.WithConsumeFromWhere(beginnings[asked.From]),
		consumer.WithConsumerOrder(asked.Listener == "ordered"),
		consumer.WithConsumeGoroutineNums(4),
	}
	if asked.MaxReconsumeTimes != nil {
		options = append(options, consumer.WithMaxReconsumeTimes(*asked.MaxReconsumeTimes))
	}
	made, err := rocketmq.NewPushConsumer(options...)
	if err != nil {
		return nil, err
	}
	kept := newInbox(asked.FailFirst)
	for topic, selector := range asked.Subscriptions {
		if err := made.Subscribe(topic, consumer.MessageSelector(selector), listener(asked, kept)); err != nil {
			return nil, err
		}
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	p.table.put(asked.Name, &pushConsumer{made, kept})
	return clientName(asked), nil
}

// listener takes messages into an inbox; what it refuses comes again after the time of the level that was asked for.
func listener(asked *request, kept *inbox) func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	return func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		if kept.accept(messages) {
			return consumer.ConsumeSuccess, nil
		}
		if asked.Listener == "ordered" {
			return consumer.SuspendCurrentQueueAMoment, nil
		}
		if concurrently, exists := primitive.GetConcurrentlyCtx(ctx); exists {
			concurrently.DelayLevelWhenNextConsume = asked.RetryLevel
		}
		return consumer.ConsumeRetryLater, nil
	}
}

func (p *pushConsumers) stop(asked *request) (interface{}, error) {
	found, err := p.table.take(asked.Name)
	if err != nil {
		return nil, err
	}
	return true, found.(*pushConsumer).consumer.Shutdown()
}

func (p *pushConsumers) collect(asked *request) (interface{}, error) {
	found, err := p.table.get(asked.Name)
	if err != nil {
		return nil, err
	}
	return found.(*pushConsumer).inbox.collect(asked.Count, asked.Millis), nil
}
