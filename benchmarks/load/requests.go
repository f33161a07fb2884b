package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Result is what a series of requests came to. Times are in milliseconds.
type Result struct {
	Requests int            `json:"requests"`
	Errors   int            `json:"errors"`
	Statuses map[string]int `json:"statuses"`
	Seconds  float64        `json:"seconds"`
	Rate     float64        `json:"rate"`
	P50      float64        `json:"p50"`
	P99      float64        `json:"p99"`
	Bytes    int64          `json:"bytes"`
}

// A sent call hears the number of each request just before it is written.
type sent func(number int)

// run sends the requests over connections that are open before the clock starts.
func run(client *Client, work Work, hear sent) Result {
	var next, bytes atomic.Int64
	var ready, done sync.WaitGroup
	times := make([][]float64, work.Connections)
	statuses := make([]map[string]int, work.Connections)
	start := make(chan time.Time)
	for i := 0; i < work.Connections; i++ {
		ready.Add(1)
		done.Add(1)
		statuses[i] = map[string]int{}
		go func() {
			defer done.Done()
			connection, err := client.connect()
			ready.Done()
			began := <-start
			for {
				number := int(next.Add(1)) - 1
				if number >= work.Count {
					break
				}
				pace(began, number, work.Rate)
				if err == nil && connection == nil {
					connection, err = client.connect()
				}
				if err != nil {
					statuses[i]["connect: "+err.Error()]++
					err = nil
					continue
				}
				if hear != nil {
					hear(work.First + number)
				}
				before := time.Now()
				status, size, failure := call(connection, work, number)
				times[i] = append(times[i], time.Since(before).Seconds()*1000)
				bytes.Add(size)
				statuses[i][status]++
				if failure != nil {
					fmt.Fprintln(os.Stderr, failure)
					connection.close()
					connection = nil
				}
			}
			if connection != nil {
				connection.close()
			}
		}()
	}
	ready.Wait()
	began := time.Now()
	for i := 0; i < work.Connections; i++ {
		start <- began
	}
	done.Wait()
	return summary(time.Since(began).Seconds(), times, statuses, bytes.Load())
}

func pace(began time.Time, number int, rate float64) {
	if rate > 0 {
		time.Sleep(time.Until(began.Add(time.Duration(float64(number) / rate * float64(time.Second)))))
	}
}

func call(connection *Connection, work Work, number int) (string, int64, error) {
	if work.Modulo > 0 {
		number %= work.Modulo
	}
	name := nameOf(work.Prefix, work.First+number)
	path := strings.ReplaceAll(work.Path, "{name}", name)
	if err := connection.send(work.Method, path, strings.ReplaceAll(work.Body, "{name}", name)); err != nil {
		return "write: " + err.Error(), 0, err
	}
	answer, err := connection.readHead()
	if err != nil {
		return "read: " + err.Error(), 0, err
	}
	size, err := connection.discard(answer)
	if err != nil {
		return "body: " + err.Error(), size, err
	}
	return fmt.Sprint(answer.Status), size, nil
}

func nameOf(prefix string, number int) string { return fmt.Sprintf("%s%06d", prefix, number) }

func summary(seconds float64, times [][]float64, statuses []map[string]int, bytes int64) Result {
	var all []float64
	for _, some := range times {
		all = append(all, some...)
	}
	result := Result{Statuses: map[string]int{}, Seconds: seconds, Bytes: bytes}
	for _, some := range statuses {
		for status, count := range some {
			result.Statuses[status] += count
			result.Requests += count
			if !strings.HasPrefix(status, "2") {
				result.Errors += count
			}
		}
	}
	result.Rate = float64(result.Requests-result.Errors) / seconds
	result.P50, result.P99 = quantile(all, 0.5), quantile(all, 0.99)
	return result
}
