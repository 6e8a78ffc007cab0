package main

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

type saramaClient struct{}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Consumer.Return.Errors = false
	return config
}

func (saramaClient) Produce(request *Request) ([]Place, error) {
	config := saramaConfig()
	config.Producer.RequiredAcks = map[string]sarama.RequiredAcks{
		"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll,
	}[request.Acks]
	config.Producer.Compression = map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}[request.Compression]
	config.Producer.Flush.Frequency = 20 * time.Millisecond
	config.Producer.MaxMessageBytes = 8_000_000
	config.Producer.Return.Successes = true
	if request.Idempotent {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	if len(request.Records) > 0 && request.Records[0].Partition != nil {
		config.Producer.Partitioner = sarama.NewManualPartitioner
	}
	producer, err := sarama.NewSyncProducer([]string{request.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, len(request.Records))
	for number, one := range request.Records {
		message := &sarama.ProducerMessage{Topic: request.Topic, Timestamp: timeOf(one.Timestamp)}
		if one.Key != nil {
			message.Key = sarama.StringEncoder(*one.Key)
		}
		if one.Value != nil {
			message.Value = sarama.StringEncoder(*one.Value)
		}
		if one.Partition != nil {
			message.Partition = *one.Partition
		}
		for _, header := range one.Headers {
			message.Headers = append(message.Headers,
				sarama.RecordHeader{Key: []byte(*header[0]), Value: bytesOf(header[1])})
		}
		messages[number] = message
	}
	if err := producer.SendMessages(messages); err != nil {
		return nil, err
	}
	places := make([]Place, len(messages))
	for number, message := range messages {
		places[number] = Place{message.Partition, message.Offset}
	}
	return places, nil
}

func saramaRecord(message *sarama.ConsumerMessage) Record {
	headers := [][2]*string{}
	for _, header := range message.Headers {
		headers = append(headers, [2]*string{textOf(header.Key), textOf(header.Value)})
	}
	partition := message.Partition
	return Record{&partition, message.Offset, textOf(message.Key), textOf(message.Value), headers,
		message.Timestamp.UnixMilli()}
}

func (saramaClient) Consume(request *Request) ([]Record, error) {
	consumer, err := sarama.NewConsumer([]string{request.Bootstrap}, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	arriving := make(chan *sarama.ConsumerMessage)
	done := make(chan struct{})
	defer close(done)
	for _, start := range request.Starts {
		partition, err := consumer.ConsumePartition(request.Topic, int32(start[0]), start[1])
		if err != nil {
			return nil, err
		}
		defer partition.AsyncClose()
		go func() {
			for message := range partition.Messages() {
				select {
				case arriving <- message:
				case <-done:
				}
			}
		}()
	}
	end := time.After(time.Duration(request.Millis) * time.Millisecond)
	came := []Record{}
	for len(came) < request.Count {
		select {
		case message := <-arriving:
			came = append(came, saramaRecord(message))
		case <-end:
			return came, nil
		}
	}
	return came, nil
}

func (saramaClient) Offset(request *Request) (int64, error) {
	client, err := sarama.NewClient([]string{request.Bootstrap}, saramaConfig())
	if err != nil {
		return 0, err
	}
	defer client.Close()
	return client.GetOffset(request.Topic, request.Partition, request.Timestamp)
}

type saramaMember struct {
	group   sarama.ConsumerGroup
	inbox   *Inbox
	end     context.CancelFunc
	session sarama.ConsumerGroupSession
}

func (saramaClient) Join(request *Request) (Member, error) {
	config := saramaConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	if request.From == "latest" {
		config.Consumer.Offsets.Initial = sarama.OffsetNewest
	}
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = time.Duration(request.Session) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	strategy := sarama.NewBalanceStrategyRange()
	if request.Assignor == "roundrobin" {
		strategy = sarama.NewBalanceStrategyRoundRobin()
	}
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	if request.Instance != nil {
		config.Consumer.Group.InstanceId = *request.Instance
	}
	group, err := sarama.NewConsumerGroup([]string{request.Bootstrap}, request.Group, config)
	if err != nil {
		return nil, err
	}
	running, end := context.WithCancel(context.Background())
	member := &saramaMember{group: group, inbox: newInbox(), end: end}
	go func() {
		for running.Err() == nil {
			if err := group.Consume(running, []string{request.Topic}, member); errors.Is(err, sarama.ErrClosedConsumerGroup) {
				return
			}
		}
	}()
	return member, nil
}

func (member *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	for _, partitions := range session.Claims() {
		member.inbox.assign(partitions)
	}
	member.inbox.Lock()
	defer member.inbox.Unlock()
	member.session = session
	return nil
}

func (member *saramaMember) Cleanup(session sarama.ConsumerGroupSession) error {
	for _, partitions := range session.Claims() {
		member.inbox.revoke(partitions)
	}
	return nil
}

func (member *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		member.inbox.add(saramaRecord(message))
		session.MarkMessage(message, "")
	}
	return nil
}

func (member *saramaMember) Commit() error {
	member.session.Commit()
	return nil
}

func (member *saramaMember) Leave() error {
	member.end()
	return member.group.Close()
}

func (member *saramaMember) Inbox() *Inbox { return member.inbox }

func (saramaClient) Code(err error) *int {
	var several sarama.ProducerErrors
	if errors.As(err, &several) && len(several) > 0 {
		err = several[0].Err
	}
	var known sarama.KError
	if errors.As(err, &known) {
		code := int(known)
		return &code
	}
	return nil
}
