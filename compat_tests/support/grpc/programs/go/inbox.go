package main

import (
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
)

// inbox is what a listener was given, in the order it was given, and which deliveries it is to refuse.
type inbox struct {
	lock      sync.Mutex
	news      chan struct{}
	all       []map[string]any
	turns     map[string]int
	failFirst int
	refused   map[string]bool
}

func newInbox(asked *request) *inbox {
	made := &inbox{
		news:      make(chan struct{}),
		turns:     map[string]int{},
		failFirst: asked.FailFirst,
		refused:   map[string]bool{},
	}
	for _, body := range asked.Refuse {
		made.refused[body] = true
	}
	return made
}

// accept notes a message; whether its consumption succeeds.
func (in *inbox) accept(from *rocketmq.MessageView) bool {
	in.lock.Lock()
	defer in.lock.Unlock()
	shape := received(from)
	in.turns[from.GetMessageId()]++
	turn := in.turns[from.GetMessageId()]
	shape["delivery"] = turn
	in.all = append(in.all, shape)
	close(in.news)
	in.news = make(chan struct{})
	return turn > in.failFirst && !in.refused[string(from.GetBody())]
}

// listener is what the client calls.
func (in *inbox) listener() rocketmq.MessageListener {
	return &rocketmq.FuncMessageListener{Consume: func(from *rocketmq.MessageView) rocketmq.ConsumerResult {
		if in.accept(from) {
			return rocketmq.SUCCESS
		}
		return rocketmq.FAILURE
	}}
}

// collect waits until at least so many deliveries came, or the time is over; it answers all of them.
func (in *inbox) collect(asked *request) []map[string]any {
	end := time.After(millis(asked.Millis))
	for {
		in.lock.Lock()
		all, news := append([]map[string]any{}, in.all...), in.news
		in.lock.Unlock()
		if len(all) >= asked.Count {
			return all
		}
		select {
		case <-news:
		case <-end:
			return all
		}
	}
}
