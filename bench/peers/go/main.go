// Go's net/http with its defaults: the Go peer of the bench. GOMAXPROCS follows the cores that it may use.
// Routes: /sleep answers after 10 ms, /park after ten minutes, /json with 10 KB, /received says how long the body was, /sent has
// 1 MiB, anything else is answered at once.
// Usage: bench-go PORT
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	itemCount = 108
	sentBytes = 1 << 20
)

type item struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Price int      `json:"price"`
	Stock bool     `json:"stock"`
	Tags  []string `json:"tags"`
}

func first(request *http.Request) int {
	number, _ := strconv.Atoi(request.URL.Query().Get("id"))
	return number
}

func hello(writer http.ResponseWriter) {
	writer.Header().Set("Content-Type", "text/html; charset=UTF-8")
	writer.Header().Set("Server", "go")
	io.WriteString(writer, "Hello World")
}

func after(wait time.Duration) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		time.Sleep(wait)
		hello(writer)
	}
}

func items(writer http.ResponseWriter, request *http.Request) {
	list, start := make([]item, 0, itemCount), first(request)
	for id := start; id < start+itemCount; id++ {
		list = append(list, item{id, "Item " + strconv.Itoa(id), id * 7, id%3 == 0, []string{"red", "large", "new"}})
	}
	text, err := json.Marshal(list)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Content-Length", strconv.Itoa(len(text)))
	writer.Write(text)
}

func received(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(writer, "%d bytes", len(body))
}

// A new body for each request, as the PHP pages have it.
func sent(writer http.ResponseWriter, request *http.Request) {
	body := append(make([]byte, 0, sentBytes), strconv.Itoa(first(request))+" "...)
	for len(body) < sentBytes {
		body = append(body, 'x')
	}
	writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	writer.Write(body)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench-go PORT")
		os.Exit(2)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("/", func(writer http.ResponseWriter, _ *http.Request) { hello(writer) })
	routes.HandleFunc("/sleep", after(10*time.Millisecond))
	routes.HandleFunc("/park", after(600*time.Second))
	routes.HandleFunc("/json", items)
	routes.HandleFunc("/received", received)
	routes.HandleFunc("/sent", sent)
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[1], routes))
	os.Exit(1)
}
