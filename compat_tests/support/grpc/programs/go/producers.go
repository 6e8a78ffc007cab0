package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
)

// producer is a client with what it was told to answer about transactions, and what a storm of it sent.
type producer struct {
	rocketmq.Producer
	questions    *inbox
	lock         sync.Mutex
	decided      map[string]string
	acknowledged []string
	storming     atomic.Bool
}

type producers struct {
	*table[*producer]
	numbers atomic.Int64
}

func newProducers() *producers {
	return &producers{table: newTable[*producer]()}
}

func (p *producers) register(operations map[string]operation) {
	operations["producer.start"] = p.start
	operations["producer.stop"] = p.stop
	operations["producer.send"] = p.with(send)
	operations["producer.begin"] = p.with(begin)
	operations["producer.recall"] = p.with(recall)
	operations["producer.decide"] = p.with(decide)
	operations["producer.questions"] = p.with(questions)
	operations["producer.storm"] = p.with(p.storm)
	operations["producer.stormCount"] = p.with(stormCount)
	operations["producer.calm"] = p.with(calm)
}

func (p *producers) with(do func(*producer, *request) (any, error)) operation {
	return func(asked *request) (any, error) {
		client, err := p.get(asked.Name)
		if err != nil {
			return nil, err
		}
		return do(client, asked)
	}
}

func (p *producers) start(asked *request) (any, error) {
	made := &producer{questions: newInbox(asked), decided: map[string]string{}}
	chosen, err := config(asked)
	if err != nil {
		return nil, err
	}
	checker := &rocketmq.TransactionChecker{Check: made.check}
	client, err := rocketmq.NewProducer(
		chosen, rocketmq.WithTopics(asked.Topics...), rocketmq.WithTransactionChecker(checker),
	)
	if err != nil {
		return nil, err
	}
	patiently(client)
	made.Producer = client
	p.put(asked.Name, made)
	return nil, client.Start()
}

func (p *producers) stop(asked *request) (any, error) {
	client, err := p.take(asked.Name)
	if err != nil {
		return nil, err
	}
	return nil, client.GracefulStop()
}

// check answers what became of a transaction, as it was told.
func (p *producer) check(from *rocketmq.MessageView) rocketmq.TransactionResolution {
	p.questions.accept(from)
	p.lock.Lock()
	defer p.lock.Unlock()
	switch p.decided[string(from.GetBody())] {
	case "COMMIT":
		return rocketmq.COMMIT
	case "ROLLBACK":
		return rocketmq.ROLLBACK
	}
	return rocketmq.UNKNOWN
}

func send(client *producer, asked *request) (any, error) {
	shapes := []map[string]any{}
	for i := range asked.Messages {
		made, err := asked.Messages[i].made()
		if err != nil {
			return nil, err
		}
		receipts, err := client.Send(context.Background(), made)
		if err != nil {
			return nil, err
		}
		shapes = append(shapes, sent(receipts[0]))
	}
	return shapes, nil
}

func begin(client *producer, asked *request) (any, error) {
	made, err := asked.Message.made()
	if err != nil {
		return nil, err
	}
	transaction := client.BeginTransaction()
	receipts, err := client.SendWithTransaction(context.Background(), made, transaction)
	if err != nil {
		return nil, err
	}
	switch asked.Resolution {
	case "COMMIT":
		err = transaction.Commit()
	case "ROLLBACK":
		err = transaction.RollBack()
	}
	return sent(receipts[0]), err
}

func recall(client *producer, asked *request) (any, error) {
	return client.Recall(context.Background(), asked.Topic, asked.Handle)
}

func decide(client *producer, asked *request) (any, error) {
	client.lock.Lock()
	defer client.lock.Unlock()
	for _, body := range asked.Bodies {
		client.decided[body] = asked.State
	}
	return nil, nil
}

func questions(client *producer, asked *request) (any, error) {
	return client.questions.collect(asked), nil
}

// storm sends from several goroutines until it is told to stop; failures are passed over.
func (p *producers) storm(client *producer, asked *request) (any, error) {
	client.storming.Store(true)
	var all sync.WaitGroup
	for range asked.Threads {
		all.Add(1)
		go func() {
			defer all.Done()
			for client.storming.Load() {
				body := fmt.Sprintf("storm-%d", p.numbers.Add(1))
				made := &rocketmq.Message{Topic: asked.Topic, Body: []byte(body)}
				if _, err := client.Send(context.Background(), made); err != nil {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				client.lock.Lock()
				client.acknowledged = append(client.acknowledged, body)
				client.lock.Unlock()
			}
		}()
	}
	all.Wait()
	return client.acknowledged, nil
}

func stormCount(client *producer, _ *request) (any, error) {
	client.lock.Lock()
	defer client.lock.Unlock()
	return len(client.acknowledged), nil
}

func calm(client *producer, _ *request) (any, error) {
	client.storming.Store(false)
	return nil, nil
}
