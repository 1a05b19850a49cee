// gorilla/websocket as a client: gorilla_client MODE PORT SIZE COUNT.
package main

import "github.com/gorilla/websocket"

type gorilla struct{ *websocket.Conn }

func (c gorilla) write(isText bool, payload []byte) error {
	kind := websocket.BinaryMessage
	if isText {
		kind = websocket.TextMessage
	}
	return c.WriteMessage(kind, payload)
}

func (c gorilla) read() (bool, []byte, error) {
	kind, payload, err := c.ReadMessage()
	return kind == websocket.TextMessage, payload, err
}

func main() {
	m := parse()
	// A message above the write buffer is sent in fragments. With the default of 4 KiB, 1 MiB has 256 of them.
	dialer := websocket.Dialer{WriteBufferSize: 64 << 10}
	c, _, err := dialer.Dial(m.url(), nil)
	must(err)
	m.run(gorilla{c})
}
