package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// message is a message to send.
type message struct {
	Topic      string            `json:"topic"`
	Body       string            `json:"body"`
	Tags       string            `json:"tags"`
	Keys       string            `json:"keys"`
	Flag       int32             `json:"flag"`
	DelayLevel int               `json:"delayLevel"`
	Properties map[string]string `json:"properties"`
}

func (from *message) made() *primitive.Message {
	made := primitive.NewMessage(from.Topic, []byte(from.Body))
	made.Flag = from.Flag
	made.WithTag(from.Tags)
	if from.Keys != "" {
		made.WithKeys(strings.Split(from.Keys, " "))
	}
	if from.DelayLevel > 0 {
		made.WithDelayTimeLevel(from.DelayLevel)
	}
	for name, value := range from.Properties {
		made.WithProperty(name, value)
	}
	return made
}

func madeOf(from []message) []*primitive.Message {
	made := []*primitive.Message{}
	for i := range from {
		made = append(made, from[i].made())
	}
	return made
}

// queue is a message queue.
type queue struct {
	Topic      string `json:"topic"`
	BrokerName string `json:"brokerName"`
	QueueID    int    `json:"queueId"`
}

func (from *queue) made() *primitive.MessageQueue {
	return &primitive.MessageQueue{Topic: from.Topic, BrokerName: from.BrokerName, QueueId: from.QueueID}
}

func queueOf(from *primitive.MessageQueue) queue {
	return queue{from.Topic, from.BrokerName, from.QueueId}
}

func queuesOf(from []*primitive.MessageQueue) []queue {
	queues := []queue{}
	for _, each := range from {
		queues = append(queues, queueOf(each))
	}
	return queues
}

// wanted is what a consumer wants of a topic: tags, or {"sql": EXPRESSION}.
type wanted consumer.MessageSelector

func (to *wanted) UnmarshalJSON(text []byte) error {
	var tags string
	if json.Unmarshal(text, &tags) == nil {
		*to = wanted{Type: consumer.TAG, Expression: tags}
		return nil
	}
	var other map[string]string
	if err := json.Unmarshal(text, &other); err != nil {
		return err
	}
	*to = wanted{Type: consumer.SQL92, Expression: other["sql"]}
	return nil
}

var statuses = map[primitive.SendStatus]string{
	primitive.SendOK:                "SEND_OK",
	primitive.SendFlushDiskTimeout:  "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
	primitive.SendUnknownError:      "UNKNOWN",
}

func sent(result *primitive.SendResult) map[string]interface{} {
	return map[string]interface{}{
		"status":      statuses[result.Status],
		"msgId":       result.MsgID,
		"offsetMsgId": result.OffsetMsgID,
		"queue":       queueOf(result.MessageQueue),
		"queueOffset": result.QueueOffset,
	}
}

func received(from *primitive.MessageExt) map[string]interface{} {
	return map[string]interface{}{
		"topic":          from.Topic,
		"brokerName":     from.Queue.BrokerName,
		"queueId":        from.Queue.QueueId,
		"queueOffset":    from.QueueOffset,
		"physicalOffset": from.CommitLogOffset,
		"msgId":          from.MsgId,
		"uniqueKey":      from.GetProperty(primitive.PropertyUniqueClientMessageIdKeyIndex),
		"tags":           from.GetTags(),
		"keys":           from.GetKeys(),
		"flag":           from.Flag,
		"sysFlag":        from.SysFlag,
		"body":           string(from.Body),
		"properties":     from.GetProperties(),
		"reconsumeTimes": from.ReconsumeTimes,
		"bornTimestamp":  from.BornTimestamp,
		"storeTimestamp": from.StoreTimestamp,
		"storeSize":      from.StoreSize,
		"bornHost":       from.BornHost,
		"storeHost":      from.StoreHost,
	}
}

// table keeps clients by the names that requests give them.
type table struct {
	lock  sync.Mutex
	found map[string]interface{}
}

func newTable() *table {
	return &table{found: map[string]interface{}{}}
}

func (t *table) put(name string, client interface{}) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.found[name] = client
}

func (t *table) get(name string) (interface{}, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	client, exists := t.found[name]
	if !exists {
		return nil, fmt.Errorf("no such client: %s", name)
	}
	return client, nil
}

func (t *table) take(name string) (interface{}, error) {
	client, err := t.get(name)
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.found, name)
	return client, err
}

// process is a part of names that no other process of this machine has at the same time.
var process = strconv.Itoa(os.Getpid())
