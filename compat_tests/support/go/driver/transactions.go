package main

import (
	"context"
	"sync"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var states = map[string]primitive.LocalTransactionState{
	"COMMIT_MESSAGE":   primitive.CommitMessageState,
	"ROLLBACK_MESSAGE": primitive.RollbackMessageState,
	"UNKNOW":           primitive.UnknowState,
}

// transactions has producers of transactions.
type transactions struct {
	table *table
}

func newTransactions() *transactions {
	return &transactions{newTable()}
}

func (t *transactions) register(operations map[string]operation) {
	operations["transactions.start"] = t.start
	operations["transactions.stop"] = t.stop
	operations["transactions.send"] = t.send
	operations["transactions.decide"] = t.decide
	operations["transactions.questions"] = t.questions
}

// decider is one producer, which knows its decisions by the bodies of its messages.
type decider struct {
	producer  rocketmq.TransactionProducer
	lock      sync.Mutex
	local     map[string]string
	decisions map[string]string
	asked     *inbox
}

// ExecuteLocalTransaction says what the sender of the message said.
func (d *decider) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	d.lock.Lock()
	defer d.lock.Unlock()
	return states[d.local[string(m.Body)]]
}

// CheckLocalTransaction says what was decided, and notes the question.
func (d *decider) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	d.asked.accept([]*primitive.MessageExt{m})
	d.lock.Lock()
	defer d.lock.Unlock()
	decision, exists := d.decisions[string(m.Body)]
	if !exists {
		decision = "UNKNOW"
	}
	return states[decision]
}

// send sends one half message; what the local transaction says is state.
func (d *decider) send(m *primitive.Message, state string) (*primitive.TransactionSendResult, error) {
	d.lock.Lock()
	d.local[string(m.Body)] = state
	d.lock.Unlock()
	return d.producer.SendMessageInTransaction(context.Background(), m)
}

// start also sends a message that is rolled back: servers ask producers they have heard of, and the client tells
// those servers of itself, a second after its start, that it has a route to.
func (t *transactions) start(asked *request) (interface{}, error) {
	made := &decider{local: map[string]string{}, decisions: map[string]string{}, asked: newInbox(0)}
	var err error
	if made.producer, err = rocketmq.NewTransactionProducer(made, producerOptions(asked)...); err != nil {
		return nil, err
	}
	if err = made.producer.Start(); err != nil {
		return nil, err
	}
	if _, err = made.send(primitive.NewMessage(asked.Topic, []byte("hello")), "ROLLBACK_MESSAGE"); err != nil {
		return nil, err
	}
	t.table.put(asked.Name, made)
	return clientName(asked), nil
}

func (t *transactions) stop(asked *request) (interface{}, error) {
	found, err := t.table.take(asked.Name)
	if err != nil {
		return nil, err
	}
	return true, found.(*decider).producer.Shutdown()
}

func (t *transactions) send(asked *request) (interface{}, error) {
	found, err := t.table.get(asked.Name)
	if err != nil {
		return nil, err
	}
	results := []interface{}{}
	for _, each := range madeOf(asked.Messages) {
		result, err := found.(*decider).send(each, asked.State)
		if err != nil {
			return nil, err
		}
		results = append(results, sent(result.SendResult))
	}
	return results, nil
}

// decide notes what is answered from now on when somebody asks about these bodies.
func (t *transactions) decide(asked *request) (interface{}, error) {
	found, err := t.table.get(asked.Name)
	if err != nil {
		return nil, err
	}
	d := found.(*decider)
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, body := range asked.Bodies {
		d.decisions[body] = asked.State
	}
	return true, nil
}

func (t *transactions) questions(asked *request) (interface{}, error) {
	found, err := t.table.get(asked.Name)
	if err != nil {
		return nil, err
	}
	return found.(*decider).asked.collect(asked.Count, asked.Millis), nil
}
