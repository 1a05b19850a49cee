// nhooyr.io/websocket as a client: nhooyr_client MODE PORT SIZE COUNT.
package main

import (
	"context"

	"nhooyr.io/websocket"
)

type nhooyr struct{ *websocket.Conn }

func (c nhooyr) write(isText bool, payload []byte) error {
	kind := websocket.MessageBinary
	if isText {
		kind = websocket.MessageText
	}
	return c.Write(context.Background(), kind, payload)
}

func (c nhooyr) read() (bool, []byte, error) {
	kind, payload, err := c.Read(context.Background())
	return kind == websocket.MessageText, payload, err
}

func main() {
	m := parse()
	disabled := websocket.DialOptions{CompressionMode: websocket.CompressionDisabled}
	c, _, err := websocket.Dial(context.Background(), m.url(), &disabled)
	must(err)
	c.SetReadLimit(64 << 20)
	m.run(nhooyr{c})
}
