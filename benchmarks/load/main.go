// Program load sends requests over a few kept-alive TLS connections and prints what came of them as JSON.
//
// It writes HTTP/1.1 by hand: on a machine that it shares with the server it must cost a small part of what it
// measures. It has two modes: `requests` (closed loop) and `watch` (watchers, and creates that they see).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// Target is where requests go and what they carry.
type Target struct {
	Address, CA, ServerName, Token string
}

// Work is a series of requests. "{name}" in path and body stands for prefix and number.
type Work struct {
	Method, Path, Body, Prefix string
	Count, Connections         int
	// Names repeat after Modulo numbers; 0: never.
	First, Modulo int
	// Requests a second for all connections together; 0: as fast as answers come.
	Rate float64
}

func main() {
	var target Target
	var work Work
	var bodyFile string
	var watchers int
	mode := "requests"
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	flags.StringVar(&target.Address, "address", "", "host:port")
	flags.StringVar(&target.CA, "ca", "", "file with the authority of the server's certificate")
	flags.StringVar(&target.ServerName, "server-name", "localhost", "name in that certificate")
	flags.StringVar(&target.Token, "token", "", "bearer token")
	flags.StringVar(&work.Method, "method", "GET", "HTTP method")
	flags.StringVar(&work.Path, "path", "", "path and query of the requests")
	flags.StringVar(&bodyFile, "body", "", "file with the body")
	flags.StringVar(&work.Prefix, "prefix", "o-", "what names begin with")
	flags.IntVar(&work.Count, "n", 1000, "number of requests")
	flags.IntVar(&work.Connections, "c", 1, "number of connections")
	flags.IntVar(&work.First, "first", 0, "first number in names")
	flags.IntVar(&work.Modulo, "modulo", 0, "after how many numbers names repeat")
	flags.Float64Var(&work.Rate, "rate", 0, "requests a second; 0: no limit")
	flags.IntVar(&watchers, "watchers", 100, "number of watchers (mode watch)")
	watchPath := flags.String("watch-path", "", "path and query of the watches (mode watch)")
	_ = flags.Parse(os.Args[2:])
	if bodyFile != "" {
		body, err := os.ReadFile(bodyFile)
		exitOn(err)
		work.Body = string(body)
	}
	client, err := newClient(target)
	exitOn(err)
	var result any
	switch mode {
	case "requests":
		result = run(client, work, nil)
	case "watch":
		result, err = fanOut(client, work, *watchPath, watchers)
		exitOn(err)
	default:
		exitOn(fmt.Errorf("unknown mode %q: requests or watch", mode))
	}
	exitOn(json.NewEncoder(os.Stdout).Encode(result))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
