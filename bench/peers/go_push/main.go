// Go's net/http and gorilla/websocket: the Go peer of push, on one processor.
//
// /echo and /talk send back what they get, /crowd hears what /common?sequence=N publishes, anything else is answered at once.
// A broadcast frames its message once and writes it to one connection after the other, which costs less than a
// goroutine and a channel for each of them.
//
// Usage: bench-go-push PORT
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

const payloadBytes = 100

// Buffers of 4 KiB for each connection would be what is measured.
var upgrader = websocket.Upgrader{ReadBufferSize: 512, WriteBufferSize: 512, WriteBufferPool: &sync.Pool{}}

var (
	lock  sync.Mutex
	crowd = map[*websocket.Conn]struct{}{}
)

// A connection that has been told so; nil if there is none.
func welcomed(w http.ResponseWriter, r *http.Request) *websocket.Conn {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil // the answer has said so
	}
	if conn.WriteMessage(websocket.TextMessage, []byte("welcome")) != nil {
		conn.Close()
		return nil
	}
	return conn
}

func echo(w http.ResponseWriter, r *http.Request) {
	conn := welcomed(w, r)
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil || conn.WriteMessage(kind, message) != nil {
			return
		}
	}
}

func listen(w http.ResponseWriter, r *http.Request) {
	// Who has been welcomed hears everything from then on.
	lock.Lock()
	conn := welcomed(w, r)
	if conn == nil {
		lock.Unlock()
		return
	}
	crowd[conn] = struct{}{}
	lock.Unlock()
	for {
		if _, _, err := conn.NextReader(); err != nil {
			break
		}
	}
	lock.Lock()
	delete(crowd, conn)
	lock.Unlock()
	conn.Close()
}

func publish(sequence string) error {
	text := fmt.Sprintf("c %s ", sequence)
	text += strings.Repeat(".", payloadBytes-len(text))
	message, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte(text))
	if err != nil {
		return err
	}
	lock.Lock()
	defer lock.Unlock()
	for conn := range crowd {
		// Its reader notices that it has ended.
		_ = conn.WritePreparedMessage(message)
	}
	return nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/common" {
		if err := publish(r.URL.Query().Get("sequence")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "Hello World")
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: bench-go-push PORT")
	}
	http.HandleFunc("/echo", echo)
	http.HandleFunc("/talk", echo)
	http.HandleFunc("/crowd", listen)
	http.HandleFunc("/", answer)
	log.Fatal(http.ListenAndServe(net.JoinHostPort("127.0.0.1", os.Args[1]), nil))
}
