package main

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"
)

// FanOut is what watchers saw of creates. Latency runs from the moment before a create is written to the
// moment when its event has been read, in milliseconds.
type FanOut struct {
	Watchers   int     `json:"watchers"`
	Expected   int     `json:"expected"`
	Deliveries int     `json:"deliveries"`
	Errors     int     `json:"errors"`
	Seconds    float64 `json:"seconds"`
	Rate       float64 `json:"rate"`
	P50        float64 `json:"p50"`
	P99        float64 `json:"p99"`
	Creates    Result  `json:"creates"`
}

// fanOut opens the watches, creates, and ends when all events have arrived or nothing came for a while.
func fanOut(client *Client, work Work, path string, watchers int) (FanOut, error) {
	connections := make([]*Connection, watchers)
	for i := range connections {
		connection, err := client.connect()
		if err != nil {
			return FanOut{}, err
		}
		defer connection.close()
		if err = connection.send("GET", path, ""); err != nil {
			return FanOut{}, err
		}
		answer, err := connection.readHead()
		if err != nil {
			return FanOut{}, err
		}
		if answer.Status != 200 || answer.Length != -1 {
			return FanOut{}, fmt.Errorf("watch: answer %d", answer.Status)
		}
		connections[i] = connection
	}
	sentAt := make([]time.Time, work.Count)
	seen := make([][]time.Time, watchers)
	var done sync.WaitGroup
	for i, connection := range connections {
		seen[i] = make([]time.Time, work.Count)
		done.Add(1)
		go func() {
			defer done.Done()
			_ = follow(connection, work, seen[i])
		}()
	}
	began := time.Now()
	var lock sync.Mutex
	creates := run(client, work, func(number int) {
		lock.Lock()
		sentAt[number-work.First] = time.Now()
		lock.Unlock()
	})
	done.Wait()
	return counted(began, sentAt, seen, creates), nil
}

// follow notes when the event of each number arrives, until all have.
func follow(connection *Connection, work Work, seen []time.Time) error {
	_ = connection.socket.SetDeadline(time.Now().Add(answerTimeout))
	mark := []byte(`"name":"` + work.Prefix)
	left := len(seen)
	var rest []byte
	for left > 0 {
		size, err := connection.chunk()
		if err != nil {
			return err
		}
		if size == 0 {
			return errors.New("the watch ended")
		}
		data := make([]byte, size+2)
		if err = readFull(connection, data); err != nil {
			return err
		}
		rest = append(rest, data[:size]...)
		now := time.Now()
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			event := rest[:end]
			if at := bytes.Index(event, mark); at >= 0 && bytes.HasPrefix(event, []byte(`{"type":"ADDED"`)) {
				digits := event[at+len(mark):]
				number, err := strconv.Atoi(string(digits[:bytes.IndexByte(digits, '"')]))
				if err == nil && number >= work.First && number-work.First < len(seen) && seen[number-work.First].IsZero() {
					seen[number-work.First] = now
					left--
				}
			}
			rest = rest[end+1:]
		}
	}
	return nil
}

func readFull(connection *Connection, data []byte) error {
	for len(data) > 0 {
		n, err := connection.reader.Read(data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func counted(began time.Time, sentAt []time.Time, seen [][]time.Time, creates Result) FanOut {
	result := FanOut{Watchers: len(seen), Expected: len(seen) * len(sentAt), Creates: creates}
	last := began
	var latencies []float64
	for _, times := range seen {
		for number, at := range times {
			if at.IsZero() {
				continue
			}
			result.Deliveries++
			latencies = append(latencies, at.Sub(sentAt[number]).Seconds()*1000)
			if at.After(last) {
				last = at
			}
		}
	}
	result.Errors = result.Expected - result.Deliveries
	result.Seconds = last.Sub(began).Seconds()
	result.Rate = float64(result.Deliveries) / result.Seconds
	result.P50, result.P99 = quantile(latencies, 0.5), quantile(latencies, 0.99)
	return result
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sort.Float64s(values)
	return values[min(int(float64(len(values))*q), len(values)-1)]
}
