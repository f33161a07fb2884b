package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

const (
	dialTimeout   = 20 * time.Second
	answerTimeout = 120 * time.Second
)

// Client opens connections to one server.
type Client struct {
	target Target
	config *tls.Config
}

func newClient(target Target) (*Client, error) {
	pem, err := os.ReadFile(target.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + target.CA)
	}
	return &Client{target, &tls.Config{RootCAs: pool, ServerName: target.ServerName}}, nil
}

// Connection is one HTTP/1.1 connection with one request at a time.
type Connection struct {
	socket *tls.Conn
	reader *bufio.Reader
	head   string
	buffer bytes.Buffer
}

func (c *Client) connect() (*Connection, error) {
	var socket *tls.Conn
	err := errors.New("never tried")
	for attempt := 0; attempt < 3 && err != nil; attempt++ {
		socket, err = c.dial()
	}
	if err != nil {
		return nil, err
	}
	head := "Host: " + c.target.ServerName + "\r\nUser-Agent: load/1\r\nAccept: application/json\r\n"
	if c.target.Token != "" {
		head += "Authorization: Bearer " + c.target.Token + "\r\n"
	}
	return &Connection{socket: socket, reader: bufio.NewReaderSize(socket, 64<<10), head: head}, nil
}

func (c *Client) dial() (*tls.Conn, error) {
	return tls.DialWithDialer(&net.Dialer{Timeout: dialTimeout}, "tcp", c.target.Address, c.config)
}

func (c *Connection) close() { _ = c.socket.Close() }

func (c *Connection) send(method, path, body string) error {
	b := &c.buffer
	b.Reset()
	b.WriteString(method + " " + path + " HTTP/1.1\r\n")
	b.WriteString(c.head)
	if body != "" {
		b.WriteString("Content-Type: application/json\r\nContent-Length: ")
		b.WriteString(strconv.Itoa(len(body)))
		b.WriteString("\r\n")
	}
	b.WriteString("\r\n")
	b.WriteString(body)
	_ = c.socket.SetDeadline(time.Now().Add(answerTimeout))
	_, err := c.socket.Write(b.Bytes())
	return err
}

// Answer is the head of an answer; Length is -1 for a chunked body.
type Answer struct {
	Status int
	Length int64
}

func (c *Connection) readHead() (Answer, error) {
	line, err := c.line()
	if err != nil {
		return Answer{}, err
	}
	if len(line) < 12 {
		return Answer{}, fmt.Errorf("no status line: %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Status: status}
	for {
		line, err = c.line()
		if err != nil || len(line) == 0 {
			return answer, err
		}
		switch name, value, _ := bytes.Cut(line, []byte(":")); {
		case bytes.EqualFold(name, []byte("content-length")):
			answer.Length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil {
				return answer, err
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			answer.Length = -1
		}
	}
}

// discard reads the whole body and gives its length.
func (c *Connection) discard(answer Answer) (int64, error) {
	if answer.Length >= 0 {
		return io.CopyN(io.Discard, c.reader, answer.Length)
	}
	var total int64
	for {
		size, err := c.chunk()
		if err != nil || size == 0 {
			return total, err
		}
		if _, err = io.CopyN(io.Discard, c.reader, size); err != nil {
			return total, err
		}
		if _, err = c.line(); err != nil {
			return total, err
		}
		total += size
	}
}

// chunk reads the line before a chunk; after the last one also the line behind it.
func (c *Connection) chunk() (int64, error) {
	line, err := c.line()
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseInt(string(line), 16, 64)
	if err == nil && size == 0 {
		_, err = c.line()
	}
	return size, err
}

func (c *Connection) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
