package main

import (
	"context"
	"fmt"
	"os"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// repliers has those who ask, and those who answer "re: " and what they were asked.
type repliers struct {
	table *table
}

type replier struct {
	producer rocketmq.Producer
	consumer rocketmq.PushConsumer
	inbox    *inbox
}

// introductionTime is more than the client takes from its start to its first heartbeat.
const introductionTime = 1500 * time.Millisecond

func newRepliers() *repliers {
	return &repliers{newTable()}
}

func (r *repliers) register(operations map[string]operation) {
	operations["requester.start"] = r.startRequester
	operations["requester.stop"] = r.stop
	operations["requester.request"] = r.request
	operations["replier.start"] = r.startReplier
	operations["replier.stop"] = r.stop
	operations["replier.collect"] = r.collect
}

// startRequester also sends a message that is no request: servers bring replies to producers they have heard of, and
// the client tells those servers of itself, a second after its start, that it has a route to.
func (r *repliers) startRequester(asked *request) (interface{}, error) {
	made, err := rocketmq.NewProducer(producerOptions(asked)...)
	if err != nil {
		return nil, err
	}
	if err := made.Start(); err != nil {
		return nil, err
	}
	if _, err := made.SendSync(context.Background(), primitive.NewMessage(asked.Topic, []byte("hello"))); err != nil {
		return nil, err
	}
	time.Sleep(introductionTime)
	r.table.put(asked.Name, &replier{producer: made})
	return clientName(asked), nil
}

func (r *repliers) startReplier(asked *request) (interface{}, error) {
	made := &replier{inbox: newInbox(0)}
	var err error
	if made.producer, err = rocketmq.NewProducer(producerOptions(asked)...); err != nil {
		return nil, err
	}
	if err := made.producer.Start(); err != nil {
		return nil, err
	}
	made.consumer, err = rocketmq.NewPushConsumer(
		consumer.WithNameServer(primitive.NamesrvAddr{asked.Namesrv}),
		consumer.WithInstance(clientName(asked)),
		consumer.WithGroupName(asked.Group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err != nil {
		return nil, err
	}
	if err := made.consumer.Subscribe(asked.Topic, consumer.MessageSelector{}, made.reply); err != nil {
		return nil, err
	}
	if err := made.consumer.Start(); err != nil {
		return nil, err
	}
	r.table.put(asked.Name, made)
	return clientName(asked), nil
}

func (r *replier) reply(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	r.inbox.accept(messages)
	for _, each := range messages {
		if consumer.GetReplyToClient(each) == "" {
			continue
		}
		answer, err := consumer.CreateReplyMessage(each, nil)
		if err == nil {
			answer.Body = append([]byte("re: "), each.Body...)
			_, err = r.producer.SendSync(context.Background(), answer)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "no reply:", err)
		}
	}
	return consumer.ConsumeSuccess, nil
}

func (r *repliers) stop(asked *request) (interface{}, error) {
	found, err := r.table.take(asked.Name)
	if err != nil {
		return nil, err
	}
	if found.(*replier).consumer != nil {
		if err := found.(*replier).consumer.Shutdown(); err != nil {
			return nil, err
		}
	}
	return true, found.(*replier).producer.Shutdown()
}

func (r *repliers) request(asked *request) (interface{}, error) {
	found, err := r.table.get(asked.Name)
	if err != nil {
		return nil, err
	}
	limit := time.Duration(asked.TTL) * time.Millisecond
	reply, err := found.(*replier).producer.Request(context.Background(), limit, asked.Message.made())
	if err != nil {
		return nil, err
	}
	return map[string]interface{}{"body": string(reply.Body), "properties": reply.GetProperties()}, nil
}

func (r *repliers) collect(asked *request) (interface{}, error) {
	found, err := r.table.get(asked.Name)
	if err != nil {
		return nil, err
	}
	return found.(*replier).inbox.collect(asked.Count, asked.Millis), nil
}
