#!/usr/bin/env python3
"""A WebSocket echo server with the fault that the path names. It prints each request on standard error.

broken.py [--tls-cert FILE --tls-key FILE]
"""
import argparse
import base64
import hashlib
import socket
import ssl
import struct
import sys
import threading
import time

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
ESCAPE = "\x1b]0;pwned\x07\x1b[2J"


def frame(opcode, payload=b"", final=True):
    size = len(payload)
    if size < 126:
        length = bytes([size])
    elif size < 65536:
        length = struct.pack(">BH", 126, size)
    else:
        length = struct.pack(">BQ", 127, size)
    return bytes([(0x80 if final else 0) | opcode]) + length + payload


def exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def unmask(payload, mask):
    key = int.from_bytes((mask * (len(payload) // 4 + 1))[: len(payload)], "big")
    return (int.from_bytes(payload, "big") ^ key).to_bytes(len(payload), "big")


def read_frame(stream):
    first, second = exactly(stream, 2)
    length = second & 127
    if length > 125:
        length = int.from_bytes(exactly(stream, 2 if length == 126 else 8), "big")
    mask = exactly(stream, 4) if second & 128 else None
    payload = exactly(stream, length)
    return first & 128 != 0, first & 15, unmask(payload, mask) if mask else payload, mask is not None


def head(status, fields, body=b""):
    lines = [f"HTTP/1.1 {status}"] + [f"{name}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def refuse(way, sock):
    """Refuses the upgrade if the fault says so. Returns whether it did."""
    if way == "garbage":
        sock.sendall(b"220 mail.example.com ESMTP\r\n")
    elif way == "plain":
        sock.sendall(head("200 OK", {"Content-Length": 20, "Server": "shop"}, b"<h1>Welcome\x1b[2J</h1>"))
    elif way == "moved":
        sock.sendall(head("301 Moved Permanently", {"Location": "wss://new.example.com/", "Content-Length": 0}))
    elif way == "guarded":
        sock.sendall(head("401 Unauthorized", {"WWW-Authenticate": "Bearer", "Content-Length": 0}))
    return way in ("garbage", "plain", "moved", "guarded", "hangs-up")


class Visit:
    def __init__(self, way, sock, stream):
        self.way, self.sock, self.stream = way, sock, stream
        self.kind, self.message = TEXT, b""
        self.lock = threading.Lock()
        if way == "talks":
            threading.Thread(target=self.talk, daemon=True).start()

    def talk(self):
        try:
            while True:
                self.write(frame(TEXT, b"tick") * 20)
                time.sleep(0.002)
        except OSError:
            pass

    def write(self, data):
        with self.lock:
            self.sock.sendall(data)

    def send(self, opcode, payload=b""):
        self.write(frame(opcode, payload))

    def close(self, code, reason=b""):
        self.send(CLOSE, struct.pack(">H", code) + reason)
        self.sock.shutdown(socket.SHUT_WR)

    def run(self):
        while True:
            final, opcode, payload, is_masked = read_frame(self.stream)
            if not is_masked and self.way != "lax":
                return self.close(1002)
            if opcode == CLOSE:
                if self.way == "never-closes":
                    continue
                self.send(CLOSE, payload)
                if self.way == "keeps-tcp":
                    self.stream.read()
                return
            if opcode == PING:
                if self.way not in ("never-pongs", "mute"):
                    self.send(PONG, payload)
                continue
            if not self.take(final, opcode, payload):
                return

    def take(self, final, opcode, payload):
        if self.way == "no-fragments" and not final:
            return False
        if opcode != 0:
            self.kind, self.message = opcode, b""
        self.message += payload
        if not final:
            return True
        if self.way == "dies-on-binary" and self.kind == BINARY:
            return False
        if self.way == "small" and len(self.message) > 5000:
            return False
        if self.kind == TEXT and self.way != "lax":
            try:
                self.message.decode()
            except UnicodeDecodeError:
                return self.close(1007)
        if self.way == "own-protocol":
            return self.close(4400, f"no such command {ESCAPE}".encode())
        if self.way == "answers":
            self.send(TEXT, f"what? {ESCAPE}".encode())
        elif self.way not in ("mute", "silent", "talks"):
            self.send(self.kind, self.message)
        return True


def serve(sock, stream):
    way = stream.readline().decode("latin-1").split(" ")[1].strip("/")
    fields = {}
    while line := stream.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    print(way, file=sys.stderr, flush=True)
    if way == "says-nothing":
        stream.read()
    if refuse(way, sock):
        return
    accept = base64.b64encode(hashlib.sha1((fields["sec-websocket-key"] + GUID).encode()).digest()).decode()
    answer = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": "wrong" if way == "bad-accept" else accept}
    if way == "proxied":
        answer.update({"Via": "1.1 edge", "CF-Ray": "8f1", "Server": "cloudflare", "Set-Cookie": "id=secret"})
    last = fields.get("sec-websocket-protocol", "").split(",")[-1].strip()
    if last and way != "no-protocol" and not last.startswith("graphql"):  # It speaks no GraphQL.
        answer["Sec-WebSocket-Protocol"] = last
    sock.sendall(head("101 Switching Protocols", answer))
    if way == "dies-idle":
        sock.settimeout(0.7)
    Visit(way, sock, stream).run()


def guarded(sock, context):
    try:
        if context:
            sock = context.wrap_socket(sock, server_side=True)
        with sock, sock.makefile("rb") as stream:
            serve(sock, stream)
    except (OSError, EOFError, KeyError, IndexError):
        sock.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tls-cert")
    parser.add_argument("--tls-key")
    arguments = parser.parse_args()
    context = None
    if arguments.tls_cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["h2", "http/1.1"])
        context.load_cert_chain(arguments.tls_cert, arguments.tls_key)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print("listening", listener.getsockname()[1], flush=True)
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=guarded, args=(sock, context), daemon=True).start()


main()
