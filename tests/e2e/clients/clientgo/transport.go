package main

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// Recorder notes every request, and can cut connections in the middle of an answer.
type Recorder struct {
	mutex sync.Mutex
	seen  []string
	open  []*cuttable
}

// cuttable is the body of an answer whose connection can be lost.
type cuttable struct {
	io.ReadCloser
	lost atomic.Bool
}

func (c *cuttable) Read(into []byte) (int, error) {
	count, err := c.ReadCloser.Read(into)
	if err != nil && c.lost.Load() {
		err = io.ErrUnexpectedEOF
	}
	return count, err
}

// Wrap puts the recorder around a transport.
func (r *Recorder) Wrap(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(request)
		line := request.Method + " " + request.URL.RequestURI()
		if err != nil {
			r.note(line+" -> "+err.Error(), nil)
			return response, err
		}
		line += " -> " + response.Header.Get("Content-Type")
		body := &cuttable{ReadCloser: response.Body}
		response.Body = body
		r.note(line, body)
		return response, nil
	})
}

func (r *Recorder) note(line string, body *cuttable) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.seen = append(r.seen, line)
	if body != nil {
		r.open = append(r.open, body)
	}
}

// Seen are the requests so far: method, path with query, and the content type of the answer.
func (r *Recorder) Seen() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.seen)
}

// Cut loses the connections of all answers so far, as a network does.
func (r *Recorder) Cut() {
	r.mutex.Lock()
	bodies := r.open
	r.open = nil
	r.mutex.Unlock()
	for _, body := range bodies {
		body.lost.Store(true)
		body.Close()
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
