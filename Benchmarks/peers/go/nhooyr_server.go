// nhooyr.io/websocket as an echo server: nhooyr_server PORT. DEFLATE=1 accepts permessage-deflate, at Go's fastest level.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"nhooyr.io/websocket"
)

var options = websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled}

func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &options)
	if err != nil {
		return
	}
	defer c.Close(websocket.StatusInternalError, "")
	c.SetReadLimit(64 << 20)
	ctx := context.Background()
	for {
		kind, message, err := c.Read(ctx)
		if err != nil {
			return
		}
		if err := c.Write(ctx, kind, message); err != nil {
			return
		}
	}
}

func main() {
	if os.Getenv("DEFLATE") != "" {
		options.CompressionMode = websocket.CompressionContextTakeover
		options.CompressionThreshold = 1
	}
	http.HandleFunc("/", echo)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
