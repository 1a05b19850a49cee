"""A server that misbehaves as the path says. Prints its port, and serves until killed."""
import base64, hashlib, socket, struct, sys, threading, time

def accept_key(key):
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()

def frame(opcode, payload):
    head = bytes([0x80 | opcode])
    return head + (bytes([len(payload)]) if len(payload) < 126 else struct.pack(">BH", 126, len(payload))) + payload

def exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data

def read_frame(stream):
    first, second = exactly(stream, 2)
    length = second & 127
    if length == 126:
        length = struct.unpack(">H", exactly(stream, 2))[0]
    mask = exactly(stream, 4)
    return first & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(exactly(stream, length)))

def serve(sock):
    stream = sock.makefile("rb")
    path = stream.readline().decode("latin-1").split(" ")[1]
    headers = {}
    while (line := stream.readline().decode("latin-1").strip()):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if path == "/silent":
        time.sleep(60)
    if path == "/401":
        body = b"log in first \x1b[2J\n"
        return sock.sendall(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
    accept = "wrong" if path == "/bad-accept" else accept_key(headers["sec-websocket-key"])
    offered = headers.get("sec-websocket-protocol", "")
    chosen = {"/echo-offer": offered, "/first-offer": offered.split(",")[0]}.get(path)
    if chosen:
        accept += "\r\nSec-WebSocket-Protocol: " + chosen
    sock.sendall((answer + accept + "\r\n\r\n").encode())
    if path.startswith("/close/"):
        sock.sendall(frame(8, struct.pack(">H", int(path[7:])) + b"go \x1b[2Jaway"))
        return stream.read()
    if path == "/violate":
        sock.sendall(b"\x83\x00")
        return stream.read()
    if path == "/mute":
        return stream.read()
    if path == "/lost":
        return None
    if path == "/escape":
        sock.sendall(frame(1, b"\x1b[2J\xc2\x9b31m\nfake> \r"))
    if path == "/headers":
        sock.sendall(frame(1, (headers.get("x-a", "") + "|" + headers.get("authorization", "")).encode()))
    if path == "/binary":
        sock.sendall(frame(2, bytes(range(20))))
    while True:
        opcode, payload = read_frame(stream)
        if opcode == 8:
            sock.sendall(frame(8, payload))
            return stream.read()
        if path == "/late" and opcode in (1, 2):
            time.sleep(0.4)
        if opcode in (1, 2):
            sock.sendall(frame(opcode, payload))
        if opcode == 9:
            sock.sendall(frame(10, payload))

def run(sock):
    try:
        serve(sock)
    except (EOFError, OSError, LookupError):
        pass
    finally:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        sock.close()

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=run, args=(listener.accept()[0],), daemon=True).start()
