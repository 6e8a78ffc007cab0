package main

import (
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// inbox is what a client was given, in the order it was given, and which deliveries it is to refuse.
type inbox struct {
	lock       sync.Mutex
	news       chan struct{}
	received   []map[string]interface{}
	deliveries map[string]int
	failFirst  int
}

// newInbox makes one that refuses the first failFirst deliveries of each message.
func newInbox(failFirst int) *inbox {
	return &inbox{news: make(chan struct{}), deliveries: map[string]int{}, failFirst: failFirst}
}

// accept takes a delivery; false when the messages are to be consumed again later.
func (in *inbox) accept(messages []*primitive.MessageExt) bool {
	in.lock.Lock()
	defer in.lock.Unlock()
	accepted := true
	for _, each := range messages {
		shape := received(each)
		unique := shape["uniqueKey"].(string)
		in.deliveries[unique]++
		shape["delivery"] = in.deliveries[unique]
		shape["receivedAt"] = time.Now().UnixNano() / int64(time.Millisecond)
		in.received = append(in.received, shape)
		accepted = accepted && in.deliveries[unique] > in.failFirst
	}
	close(in.news)
	in.news = make(chan struct{})
	return accepted
}

// collect waits until at least count deliveries came, or the time is over; it answers all of them.
func (in *inbox) collect(count int, millis int64) []map[string]interface{} {
	end := time.After(time.Duration(millis) * time.Millisecond)
	for {
		in.lock.Lock()
		all, news := append([]map[string]interface{}{}, in.received...), in.news
		in.lock.Unlock()
		if len(all) >= count {
			return all
		}
		select {
		case <-news:
		case <-end:
			return all
		}
	}
}
