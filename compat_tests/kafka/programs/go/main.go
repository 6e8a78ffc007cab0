// Drives Kafka's Go clients as requests on standard input say: a JSON object a line, answered by another.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Record is a record to send, or one that came.
type Record struct {
	Partition *int32       `json:"partition"`
	Offset    int64        `json:"offset"`
	Key       *string      `json:"key"`
	Value     *string      `json:"value"`
	Headers   [][2]*string `json:"headers"`
	Timestamp int64        `json:"timestamp"`
}

// Request has the arguments of all operations.
type Request struct {
	ID          int        `json:"id"`
	Op          string     `json:"op"`
	Bootstrap   string     `json:"bootstrap"`
	Topic       string     `json:"topic"`
	Records     []Record   `json:"records"`
	Acks        string     `json:"acks"`
	Compression string     `json:"compression"`
	Idempotent  bool       `json:"idempotent"`
	Starts      [][2]int64 `json:"starts"`
	Count       int        `json:"count"`
	Millis      int64      `json:"millis"`
	Partition   int32      `json:"partition"`
	Timestamp   int64      `json:"timestamp"`
	Name        string     `json:"name"`
	Group       string     `json:"group"`
	Assignor    string     `json:"assignor"`
	Instance    *string    `json:"instance"`
	From        string     `json:"from"`
	Session     int64      `json:"session"`
}

// Place is where a record was written.
type Place struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
}

// Taken is what came to a member since the last time.
type Taken struct {
	Assignment []int32  `json:"assignment"`
	Revoked    int      `json:"revoked"`
	Records    []Record `json:"records"`
}

// Client is one of the libraries.
type Client interface {
	Produce(*Request) ([]Place, error)
	Consume(*Request) ([]Record, error)
	Offset(*Request) (int64, error)
	Join(*Request) (Member, error)
	Code(error) *int
}

// Member is a member of a group.
type Member interface {
	Commit() error
	Leave() error
	Inbox() *Inbox
}

// Inbox keeps what a member has and what came to it.
type Inbox struct {
	sync.Mutex
	assignment map[int32]bool
	revoked    int
	records    []Record
}

func newInbox() *Inbox {
	return &Inbox{assignment: map[int32]bool{}, records: []Record{}}
}

func (inbox *Inbox) assign(partitions []int32) {
	inbox.Lock()
	defer inbox.Unlock()
	for _, one := range partitions {
		inbox.assignment[one] = true
	}
}

func (inbox *Inbox) revoke(partitions []int32) {
	inbox.Lock()
	defer inbox.Unlock()
	for _, one := range partitions {
		delete(inbox.assignment, one)
	}
	inbox.revoked += len(partitions)
}

func (inbox *Inbox) add(record Record) {
	inbox.Lock()
	defer inbox.Unlock()
	inbox.records = append(inbox.records, record)
}

func (inbox *Inbox) take() Taken {
	inbox.Lock()
	defer inbox.Unlock()
	taken := Taken{Assignment: []int32{}, Revoked: inbox.revoked, Records: inbox.records}
	for one := range inbox.assignment {
		taken.Assignment = append(taken.Assignment, one)
	}
	inbox.records = []Record{}
	return taken
}

func bytesOf(text *string) []byte {
	if text == nil {
		return nil
	}
	return append([]byte{}, *text...)
}

func textOf(data []byte) *string {
	if data == nil {
		return nil
	}
	text := string(data)
	return &text
}

func timeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}

func main() {
	var client Client = franz{}
	if os.Args[1] == "sarama" {
		client = saramaClient{}
	}
	members := sync.Map{}
	var writing sync.Mutex
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		go func() {
			var request Request
			if err := json.Unmarshal(line, &request); err != nil {
				panic(err)
			}
			answer := map[string]any{"id": request.ID}
			result, err := run(client, &members, &request)
			if err != nil {
				answer["error"] = map[string]any{"type": "error", "code": client.Code(err), "message": err.Error()}
			} else {
				answer["result"] = result
			}
			text, err := json.Marshal(answer)
			if err != nil {
				panic(err)
			}
			writing.Lock()
			defer writing.Unlock()
			os.Stdout.Write(append(text, '\n'))
		}()
	}
}

func run(client Client, members *sync.Map, request *Request) (any, error) {
	switch request.Op {
	case "produce":
		return client.Produce(request)
	case "consume":
		return client.Consume(request)
	case "offset":
		return client.Offset(request)
	case "join":
		member, err := client.Join(request)
		if err == nil {
			members.Store(request.Name, member)
		}
		return nil, err
	}
	found, ok := members.Load(request.Name)
	if !ok {
		return nil, errors.New("no member " + request.Name)
	}
	member := found.(Member)
	switch request.Op {
	case "taken":
		return member.Inbox().take(), nil
	case "commit":
		return nil, member.Commit()
	case "leave":
		return nil, member.Leave()
	}
	return nil, errors.New("no operation " + request.Op)
}
