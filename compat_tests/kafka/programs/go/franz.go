package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franz struct{}

var franzCodecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func (franz) Produce(request *Request) ([]Place, error) {
	acks := map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}[request.Acks]
	options := []kgo.Opt{
		kgo.SeedBrokers(request.Bootstrap),
		kgo.RequiredAcks(acks),
		kgo.ProducerBatchCompression(franzCodecs[request.Compression]),
		kgo.ProducerLinger(20 * time.Millisecond),
		kgo.ProducerBatchMaxBytes(8_000_000),
		kgo.AllowAutoTopicCreation(),
	}
	if !request.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if len(request.Records) > 0 && request.Records[0].Partition != nil {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := make([]*kgo.Record, len(request.Records))
	for number, one := range request.Records {
		record := &kgo.Record{Topic: request.Topic, Key: bytesOf(one.Key), Value: bytesOf(one.Value)}
		record.Timestamp = timeOf(one.Timestamp)
		if one.Partition != nil {
			record.Partition = *one.Partition
		}
		for _, header := range one.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: *header[0], Value: bytesOf(header[1])})
		}
		records[number] = record
	}
	if err := client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		return nil, err
	}
	places := make([]Place, len(records))
	for number, record := range records {
		places[number] = Place{record.Partition, record.Offset}
	}
	return places, nil
}

func franzRecord(record *kgo.Record) Record {
	headers := [][2]*string{}
	for _, header := range record.Headers {
		headers = append(headers, [2]*string{&header.Key, textOf(header.Value)})
	}
	partition := record.Partition
	return Record{&partition, record.Offset, textOf(record.Key), textOf(record.Value), headers,
		record.Timestamp.UnixMilli()}
}

func (franz) Consume(request *Request) ([]Record, error) {
	starts := map[int32]kgo.Offset{}
	for _, start := range request.Starts {
		starts[int32(start[0])] = kgo.NewOffset().At(start[1])
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(request.Bootstrap),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{request.Topic: starts}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	limit, cancel := context.WithTimeout(context.Background(), time.Duration(request.Millis)*time.Millisecond)
	defer cancel()
	came := []Record{}
	for len(came) < request.Count && limit.Err() == nil {
		client.PollFetches(limit).EachRecord(func(record *kgo.Record) { came = append(came, franzRecord(record)) })
	}
	return came, nil
}

func (franz) Offset(request *Request) (int64, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(request.Bootstrap))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	asked := kmsg.NewListOffsetsRequest()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = request.Topic
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Partition, partition.Timestamp = request.Partition, request.Timestamp
	topic.Partitions = append(topic.Partitions, partition)
	asked.Topics = append(asked.Topics, topic)
	answer, err := asked.RequestWith(context.Background(), client)
	if err != nil {
		return 0, err
	}
	found := answer.Topics[0].Partitions[0]
	return found.Offset, kerr.ErrorForCode(found.ErrorCode)
}

type franzMember struct {
	client *kgo.Client
	inbox  *Inbox
	end    context.CancelFunc
}

func (franz) Join(request *Request) (Member, error) {
	inbox := newInbox()
	balancer := map[string]kgo.GroupBalancer{
		"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "cooperative": kgo.CooperativeStickyBalancer(),
	}[request.Assignor]
	reset := kgo.NewOffset().AtStart()
	if request.From == "latest" {
		reset = kgo.NewOffset().AtEnd()
	}
	lost := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { inbox.revoke(gone[request.Topic]) }
	options := []kgo.Opt{
		kgo.SeedBrokers(request.Bootstrap),
		kgo.ConsumerGroup(request.Group),
		kgo.ConsumeTopics(request.Topic),
		kgo.ConsumeResetOffset(reset),
		kgo.Balancers(balancer),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(time.Duration(request.Session) * time.Millisecond),
		kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, new map[string][]int32) {
			inbox.assign(new[request.Topic])
		}),
		kgo.OnPartitionsRevoked(lost),
		kgo.OnPartitionsLost(lost),
	}
	if request.Instance != nil {
		options = append(options, kgo.InstanceID(*request.Instance))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	running, end := context.WithCancel(context.Background())
	go func() {
		for running.Err() == nil {
			client.PollFetches(running).EachRecord(func(record *kgo.Record) { inbox.add(franzRecord(record)) })
		}
	}()
	return &franzMember{client, inbox, end}, nil
}

func (member *franzMember) Commit() error {
	return member.client.CommitUncommittedOffsets(context.Background())
}

func (member *franzMember) Leave() error {
	member.end()
	member.client.Close()
	return nil
}

func (member *franzMember) Inbox() *Inbox { return member.inbox }

func (franz) Code(err error) *int {
	var known *kerr.Error
	if errors.As(err, &known) {
		code := int(known.Code)
		return &code
	}
	return nil
}
