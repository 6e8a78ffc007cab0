package main

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const shownBytes = 1024

// requestTimeout is longer than a busy machine needs for its slowest answer.
const requestTimeout = 30 * time.Second

// message is a message to send.
type message struct {
	Topic      string            `json:"topic"`
	Body       string            `json:"body"`
	Size       *int              `json:"size"`
	Tag        string            `json:"tag"`
	Keys       []string          `json:"keys"`
	Properties map[string]string `json:"properties"`
	Group      string            `json:"group"`
	Lite       string            `json:"lite"`
	Priority   *int32            `json:"priority"`
	Delay      int64             `json:"delay"`
}

func (from *message) made() (*rocketmq.Message, error) {
	made := &rocketmq.Message{Topic: from.Topic, Body: []byte(from.Body)}
	if from.Size != nil {
		made.Body = make([]byte, *from.Size)
		for i := range made.Body {
			made.Body[i] = byte(i % 251)
		}
	}
	if from.Tag != "" {
		made.SetTag(from.Tag)
	}
	if len(from.Keys) > 0 {
		made.SetKeys(from.Keys...)
	}
	if from.Group != "" {
		made.SetMessageGroup(from.Group)
	}
	if from.Lite != "" {
		made.SetLiteTopic(from.Lite)
	}
	if from.Delay > 0 {
		made.SetDelayTimestamp(time.Now().Add(millis(from.Delay)))
	}
	for name, value := range from.Properties {
		made.AddProperty(name, value)
	}
	if from.Priority != nil {
		return made, made.SetPriority(*from.Priority)
	}
	return made, nil
}

// wanted is what a consumer wants of a topic: tags, or {"sql": EXPRESSION}.
type wanted struct {
	expression *rocketmq.FilterExpression
}

func (to *wanted) UnmarshalJSON(text []byte) error {
	var tags string
	if json.Unmarshal(text, &tags) == nil {
		to.expression = rocketmq.NewFilterExpression(tags)
		return nil
	}
	var other map[string]string
	if err := json.Unmarshal(text, &other); err != nil {
		return err
	}
	to.expression = rocketmq.NewFilterExpressionWithType(other["sql"], rocketmq.SQL92)
	return nil
}

func expressions(from map[string]wanted) map[string]*rocketmq.FilterExpression {
	made := map[string]*rocketmq.FilterExpression{}
	for topic, each := range from {
		made[topic] = each.expression
	}
	return made
}

// config is what every client is made with; it fails for a client that is to speak as this process does not.
func config(asked *request) (*rocketmq.Config, error) {
	if asked.TLS != rocketmq.EnableSsl {
		return nil, fmt.Errorf("TLS is %v for the whole process", rocketmq.EnableSsl)
	}
	return &rocketmq.Config{
		Endpoint:      asked.Endpoints,
		ConsumerGroup: asked.Group,
		Credentials:   &credentials.SessionCredentials{},
	}, nil
}

// patiently has a client wait requestTimeout for its answers; its configuration has no field for that.
func patiently(client any) {
	client.(interface{ SetRequestTimeout(time.Duration) }).SetRequestTimeout(requestTimeout)
}

// dialPatiently has all clients wait requestTimeout for a connection, too.
func dialPatiently() {
	dial := rocketmq.NewRpcClient
	option := rocketmq.WithRpcClientConnOption(rocketmq.WithDialTimeout(requestTimeout))
	rocketmq.NewRpcClient = func(target string, options ...rocketmq.RpcClientOption) (rocketmq.RpcClient, error) {
		return dial(target, append(options, option)...)
	}
}

func sent(receipt *rocketmq.SendReceipt) map[string]any {
	shape := map[string]any{"messageId": receipt.MessageID, "transactionId": receipt.TransactionId}
	if receipt.RecallHandle != "" {
		shape["recallHandle"] = receipt.RecallHandle
	}
	return shape
}

// received is a message as the user sees it. This client does not tell its user the priority of one.
func received(from *rocketmq.MessageView) map[string]any {
	body := from.GetBody()
	digest := md5.Sum(body)
	shape := map[string]any{
		"messageId":     from.GetMessageId(),
		"topic":         from.GetTopic(),
		"size":          len(body),
		"md5":           hex.EncodeToString(digest[:]),
		"body":          "",
		"properties":    from.GetProperties(),
		"keys":          append([]string{}, from.GetKeys()...),
		"tag":           from.GetTag(),
		"group":         from.GetMessageGroup(),
		"lite":          from.GetLiteTopic(),
		"bornHost":      from.GetBornHost(),
		"bornTimestamp": stamp(from.GetBornTimestamp()),
		"attempt":       from.GetDeliveryAttempt(),
		"receivedAt":    time.Now().UnixMilli(),
	}
	if len(body) <= shownBytes {
		shape["body"] = string(body)
	}
	if due := from.GetDeliveryTimestamp(); due != nil {
		shape["deliveryTimestamp"] = stamp(due)
	}
	return shape
}

func stamp(when *time.Time) int64 {
	if when == nil {
		return 0
	}
	return when.UnixMilli()
}

func millis(count int64) time.Duration {
	return time.Duration(count) * time.Millisecond
}
