package main

import (
	"context"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// admins has what the client's administration can do. It keeps routes for good: each question has an admin of its own.
type admins struct {
	making sync.Mutex
}

func newAdmins() *admins {
	return &admins{}
}

func (a *admins) register(operations map[string]operation) {
	operations["admin.createTopic"] = a.with(createTopic)
	operations["admin.deleteTopic"] = a.with(deleteTopic)
	operations["admin.topics"] = a.with(topics)
	operations["producer.queues"] = a.with(queues)
}

func (a *admins) with(do func(admin.Admin, *request) (interface{}, error)) operation {
	return func(asked *request) (interface{}, error) {
		made, err := a.make(asked)
		if err != nil {
			return nil, err
		}
		defer made.Close()
		return do(made, asked)
	}
}

// make makes one at a time: the client names them by the time.
func (a *admins) make(asked *request) (admin.Admin, error) {
	a.making.Lock()
	defer a.making.Unlock()
	return admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{asked.Namesrv})))
}

func createTopic(by admin.Admin, asked *request) (interface{}, error) {
	return true, by.CreateTopic(
		context.Background(),
		admin.WithTopicCreate(asked.Topic),
		admin.WithBrokerAddrCreate(asked.Broker),
		admin.WithReadQueueNums(asked.Queues),
		admin.WithWriteQueueNums(asked.Queues),
	)
}

func deleteTopic(by admin.Admin, asked *request) (interface{}, error) {
	return true, by.DeleteTopic(context.Background(), admin.WithTopicDelete(asked.Topic))
}

func topics(by admin.Admin, _ *request) (interface{}, error) {
	list, err := by.FetchAllTopicList(context.Background())
	if err != nil {
		return nil, err
	}
	return list.TopicList, nil
}

func queues(by admin.Admin, asked *request) (interface{}, error) {
	found, err := by.FetchPublishMessageQueues(context.Background(), asked.Topic)
	if err != nil {
		return nil, err
	}
	return queuesOf(found), nil
}
