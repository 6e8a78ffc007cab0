package main

import (
	"context"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
	v2 "github.com/apache/rocketmq-clients/golang/v5/protocol/v2"
)

const (
	awaitOfPush     = 5 * time.Second
	invisibleOfLite = 30 * time.Second
)

// simpleConsumers are those that are asked, and the messages that they were given, by number.
type simpleConsumers struct {
	*table[rocketmq.SimpleConsumer]
	lock     sync.Mutex
	receipts map[int64]*rocketmq.MessageView
}

func newSimpleConsumers() *simpleConsumers {
	receipts := map[int64]*rocketmq.MessageView{}
	return &simpleConsumers{table: newTable[rocketmq.SimpleConsumer](), receipts: receipts}
}

func (s *simpleConsumers) register(operations map[string]operation) {
	operations["simple.start"] = s.start
	operations["simple.stop"] = s.stop
	operations["simple.receive"] = s.receive
	operations["simple.ack"] = s.ack
	operations["simple.change"] = s.change
}

func (s *simpleConsumers) start(asked *request) (any, error) {
	chosen, err := config(asked)
	if err != nil {
		return nil, err
	}
	client, err := rocketmq.NewSimpleConsumer(
		chosen,
		rocketmq.WithSimpleAwaitDuration(millis(asked.Await)),
		rocketmq.WithSimpleSubscriptionExpressions(expressions(asked.Subscriptions)),
	)
	if err != nil {
		return nil, err
	}
	patiently(client)
	s.put(asked.Name, client)
	return nil, client.Start()
}

func (s *simpleConsumers) stop(asked *request) (any, error) {
	client, err := s.take(asked.Name)
	if err != nil {
		return nil, err
	}
	return nil, client.GracefulStop()
}

// receive is one call. That there is nothing is an error to this client.
func (s *simpleConsumers) receive(asked *request) (any, error) {
	client, err := s.get(asked.Name)
	if err != nil {
		return nil, err
	}
	shapes := []map[string]any{}
	found, err := client.Receive(context.Background(), asked.Max, millis(asked.Invisible))
	if status, told := rocketmq.AsErrRpcStatus(err); told && status.GetCode() == int32(v2.Code_MESSAGE_NOT_FOUND) {
		return shapes, nil
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, each := range found {
		number := int64(len(s.receipts) + 1)
		s.receipts[number] = each
		shape := received(each)
		shape["receipt"] = number
		shapes = append(shapes, shape)
	}
	return shapes, err
}

func (s *simpleConsumers) receipt(number int64) *rocketmq.MessageView {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.receipts[number]
}

func (s *simpleConsumers) ack(asked *request) (any, error) {
	client, err := s.get(asked.Name)
	if err != nil {
		return nil, err
	}
	for _, number := range asked.Receipts {
		if err := client.Ack(context.Background(), s.receipt(number)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (s *simpleConsumers) change(asked *request) (any, error) {
	client, err := s.get(asked.Name)
	if err != nil {
		return nil, err
	}
	return nil, client.ChangeInvisibleDuration(s.receipt(asked.Receipt), millis(asked.Invisible))
}

// listening is a consumer with a listener, of ordinary topics or of lite ones.
type listening struct {
	rocketmq.PushConsumer
	inbox *inbox
}

type pushConsumers struct {
	*table[*listening]
}

func newPushConsumers() *pushConsumers {
	return &pushConsumers{newTable[*listening]()}
}

func (p *pushConsumers) register(operations map[string]operation) {
	operations["push.start"] = p.start
	operations["lite.start"] = p.startLite
	operations["lite.subscribe"] = p.subscribe
	operations["lite.unsubscribe"] = p.unsubscribe
	for _, kind := range []string{"push", "lite"} {
		operations[kind+".stop"] = p.stop
		operations[kind+".collect"] = p.collect
	}
}

func (p *pushConsumers) start(asked *request) (any, error) {
	chosen, err := config(asked)
	if err != nil {
		return nil, err
	}
	in := newInbox(asked)
	client, err := rocketmq.NewPushConsumer(
		chosen,
		rocketmq.WithPushAwaitDuration(awaitOfPush),
		rocketmq.WithPushSubscriptionExpressions(expressions(asked.Subscriptions)),
		rocketmq.WithPushMessageListener(in.listener()),
	)
	if err != nil {
		return nil, err
	}
	patiently(client)
	p.put(asked.Name, &listening{client, in})
	return nil, client.Start()
}

func (p *pushConsumers) startLite(asked *request) (any, error) {
	chosen, err := config(asked)
	if err != nil {
		return nil, err
	}
	in := newInbox(asked)
	client, err := rocketmq.NewLitePushConsumer(
		chosen,
		rocketmq.NewLitePushConsumerConfig(asked.Topic, invisibleOfLite),
		rocketmq.WithPushAwaitDuration(awaitOfPush),
		rocketmq.WithPushMessageListener(in.listener()),
	)
	if err != nil {
		return nil, err
	}
	patiently(client)
	p.put(asked.Name, &listening{client, in})
	return nil, client.Start()
}

func (p *pushConsumers) subscribe(asked *request) (any, error) {
	client, err := p.get(asked.Name)
	if err != nil {
		return nil, err
	}
	return nil, client.PushConsumer.(rocketmq.LitePushConsumer).SubscribeLite(asked.Lite)
}

func (p *pushConsumers) unsubscribe(asked *request) (any, error) {
	client, err := p.get(asked.Name)
	if err != nil {
		return nil, err
	}
	return nil, client.PushConsumer.(rocketmq.LitePushConsumer).UnSubscribeLite(asked.Lite)
}

func (p *pushConsumers) collect(asked *request) (any, error) {
	client, err := p.get(asked.Name)
	if err != nil {
		return nil, err
	}
	return client.inbox.collect(asked), nil
}

func (p *pushConsumers) stop(asked *request) (any, error) {
	client, err := p.take(asked.Name)
	if err != nil {
		return nil, err
	}
	return nil, client.GracefulStop()
}
