"""Bad requests to the HTTP side of a live hub."""
import asyncio
import json
import re
import uuid

PATIENCE = 60  # seconds; limits failures only
KEY = "an API key for abuse"
PLACES = 100  # plain HTTP connections allowed for an address
POST = "POST /api/rooms/pit/messages"
GOOD = b'{"type":"note","body":{"a":1}}'


def head(line, length=None, key=KEY, **fields):
    fields = {"Host": "127.0.0.1"} | ({"Authorization": f"Bearer {key}"} if key else {}) | fields
    if length is not None:
        fields["Content-Length"] = length
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"{line} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")


def whole(line, body=b"", **fields):
    return head(line, len(body), **fields) + body


class Visit:
    """One connection."""

    def __init__(self, port, source=None):
        """source: the address of this machine that it comes from."""
        self.port, self.source = port, source and (source, 0)

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=self.source)
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    async def send(self, data):
        # The hub may have closed already.
        try:
            self.writer.write(data)
            await asyncio.wait_for(self.writer.drain(), PATIENCE)
        except ConnectionError:
            pass

    async def answer(self, has_body=True):
        """The status and the body of the next answer. The status is 0 if the hub closed instead."""
        try:
            async with asyncio.timeout(PATIENCE):
                lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"\r\ncontent-length: *(\d+)", lines, re.IGNORECASE)
                body = await self.reader.readexactly(int(length[1])) if length and has_body else b""
                return int(lines.split(" ")[1]), body
        except (ConnectionError, asyncio.IncompleteReadError):
            return 0, b""


async def ask(port, data, source=None):
    async with Visit(port, source) as visit:
        await visit.send(data)
        return await visit.answer(has_body=not data.startswith(b"HEAD"))


BODIES = [
    b"", b"{", b"[]", b"null", b"{}", b'"', b"{" * 10_000, b"[" * 100_000, b'{"type":"a"}', b'{"body":1}', b'{"type":1,"body":1}',
    b'{"type":"a","body":}', b'{"type":"a","body":1}}', b'{"type":"a","body":1,"user":""}', b'{"type":"a","body":1,"user":7}',
    b'{"type":"' + b"x" * 70 + b'","body":1}', b'{"type":"a","bin":"*"}', b'{"type":"a","body":' + b"[" * 1000 + b"]" * 1000 + b"}",
    b'{"type":"a","body":1,"about":{"kind":"edit","seq":-1}}', b'{"type":"\xff","body":1}', b'{"type":"a","body":"\x00"}', b"\xff\xfe\x00",
]
# The router must not find a file or a room, and must not fail.
PATHS = [
    "/page/../../etc/passwd", "/page/%2e%2e/chat.mjs", "/page/..%2f..%2fetc%2fpasswd", "//etc/passwd", "/page/", "/page/%00", "/status/../api",
    "/api/rooms//messages", "/api/rooms/%00/messages", "/api/rooms/%ff/messages", "/api/rooms/a%zz/messages", "/api/rooms/" + "x" * 200 + "/messages",
    "/api/rooms/a/messages?limit=99999999999999999999", "/api/rooms/a/messages?limit=-1", "/api/rooms/a/messages?before=x",
    "/api/rooms/a/messages?before=0", "/api/../metrics", "/" + "x" * 70_000, "/?" + "a&" * 30_000, "*", "/\u00e9",
]


async def wrong_keys(port, report):
    keys = [None, "", "x", KEY[:-1], KEY + "x", KEY.upper(), KEY + " ", " ", "x" * 60_000, "dev:ann", "\u00e9" * 16]
    wrong = {}
    for key in keys:
        for line in (POST, "GET /api/rooms/hall/messages", "POST /api/backup"):
            status, _ = await ask(port, whole(line, GOOD if "POST" in line else b"", key=key))
            # A space at the end of a field does not count (RFC 9110 §5.5).
            if status not in ((200, 201, 404) if key == KEY + " " else (401, 400, 431, 0)):
                wrong[str(key)[:20], line] = status
    status, _ = await ask(port, whole(POST, GOOD, key=None, Authorization=f"Basic {KEY}"))
    report(not wrong and status == 401, "the API requires a valid key", (wrong, status))


async def bad_bodies(port, report):
    answers = {body[:30]: (await ask(port, whole(POST, body)))[0] for body in BODIES}
    report(set(answers.values()) == {400, 413}, "bad bodies are refused", {key: value for key, value in answers.items() if value != 400})
    answers = [
        await ask(port, head(POST, 1 << 30) + b" " * (1 << 20)), await ask(port, head(POST, 300 * 1024) + b" " * 300 * 1024),
        await ask(port, head(POST, Transfer_Encoding="chunked") + b"10000\r\n" + (b" " * 65536 + b"\r\n10000\r\n") * 16),
        await ask(port, head(POST, 1 << 30, key=None) + b" " * (1 << 20)),
    ]
    report([status for status, _ in answers[:3]] == [413] * 3 and answers[3][0] == 401, "giant bodies are refused", [status for status, _ in answers])
    lies = [
        head(POST, -1), head(POST, "x"), head(POST, "99999999999999999999999"), head(POST, 3, Transfer_Encoding="chunked") + b"0\r\n\r\n",
        head(POST, "3, 4") + b"abcd", head(POST, Transfer_Encoding="chunked") + b"zz\r\n", head(POST, Transfer_Encoding="x"),
        head(POST, Transfer_Encoding="chunked") + b"1 \r\nx\r\n0\r\n\r\n",
        head(POST, Transfer_Encoding="chunked") + b"ffffffffffffffffff\r\n", head(POST + "\r\nX : y", 0), head("POST  /", 0), head("\0", 0),
        head("GET / HTTP/9.9\r\nX: y", 0), head(POST, 0, X="y\r\n z"), b"\r\n" * 1000, b"\xff" * 5000, head("GET /", X="y" * 200_000),
    ]
    answers = [(await ask(port, lie + b"\r\n"))[0] for lie in lies]
    report(all(status == 0 or 400 <= status < 600 and status != 500 for status in answers), "invalid HTTP is refused", answers)


async def paths(port, report):
    wrong = {}
    for path in PATHS:
        for method in ("GET", "POST", "DELETE", "HEAD"):
            status, body = await ask(port, whole(f"{method} {path}", GOOD if method == "POST" else b""))
            is_page = status == 200 and path.startswith("/?") and method in ("GET", "HEAD")
            # A publication ignores the query.
            is_publication = status == 201 and "/a/messages?" in path and method == "POST"
            if not is_page and not is_publication and not (status == 0 or 400 <= status < 500) or b"root:" in body:
                wrong[method, path[:40]] = status
    report(not wrong, "no path leaks a file or a room", wrong)


async def pipelines(port, report):
    async with Visit(port) as visit:
        sending = asyncio.create_task(visit.send(whole("GET /healthz") * 2000))
        answers = {await visit.answer() for _ in range(2000)}
        await sending
    report(answers == {(200, b"alive\n")}, "two thousand requests at once are answered one by one", answers)
    # The answers are not read, so the hub stops reading.
    async with Visit(port) as visit:
        visit.reader._transport.pause_reading()
        request, said = whole("GET /page/rooms.mjs") * 100, 0
        try:
            while said < 256 << 20:  # More than all buffers on the way hold.
                visit.writer.write(request)
                said += len(request)
                async with asyncio.timeout(3):
                    await visit.writer.drain()
            held = False
        except (TimeoutError, ConnectionError):
            held = True
        report(held, "the hub stops reading from a client that does not read answers")


async def floods(port, report):
    """Slow bodies and heads stay open while other requests are served."""
    slow = [Visit(port) for _ in range(PLACES // 10)]
    for visit in slow:
        await visit.__aenter__()
        await visit.send(head(POST, 1000) + b"{")

    async def drip():
        while True:
            for visit in slow:
                await visit.send(b" ")
            await asyncio.sleep(0.5)
    dripping = asyncio.create_task(drip())
    try:
        many = await asyncio.gather(*(ask(port, whole("GET /", key=None)) for _ in range(PLACES // 2)))
        report({status for status, _ in many} == {200}, "pages are served beside slow bodies", {status for status, _ in many})
        key = str(uuid.uuid4())
        same = await asyncio.gather(*(ask(port, whole(POST, GOOD, Idempotency_Key=key)) for _ in range(40)))
        statuses, seqs = {status for status, _ in same}, {json.loads(body)["seq"] for _, body in same}
        report(statuses <= {200, 201} and 201 in statuses and len(seqs) == 1, "forty equal publications are stored once", (statuses, seqs))
        status, _ = await ask(port, whole(POST, GOOD, Idempotency_Key="x"))
        report(status == 400, "a key that is no UUID is refused", status)
        limit = asyncio.Semaphore(PLACES // 2)

        async def publish():
            async with limit:
                return (await ask(port, whole(POST, GOOD)))[0]
        statuses = await asyncio.gather(*(publish() for _ in range(1500)))
        report(set(statuses) <= {201, 429, 503} and 201 in statuses, "a flood of publications is stored or delayed", set(statuses))
        watchers = [Visit(port) for _ in range(80)]
        for visit in watchers:
            await visit.__aenter__()
            await visit.send(whole("GET /status/stream"))
        statuses = [(await visit.answer())[0] for visit in watchers]
        for visit in watchers:
            visit.writer.close()
        report(sorted(set(statuses)) == [200, 503] and statuses.count(200) <= 64, "status streams are limited", statuses.count(200))
    finally:
        dripping.cancel()
        for visit in slow:
            visit.writer.close()


async def places(port, report):
    """One address opens more connections than allowed."""
    visits = [Visit(port) for _ in range(PLACES + 40)]
    statuses = []
    for visit in visits:
        await visit.__aenter__()
        await visit.send(whole("GET /", key=None))
        statuses.append((await visit.answer())[0])
    probe, _ = await ask(port, whole("GET /healthz", key=None))
    for visit in visits:
        visit.writer.close()
    report(
        set(statuses) == {200, 503} and statuses.count(200) <= PLACES and probe == 200,
        "an address has so many connections of plain HTTP, but for probes", (statuses.count(200), probe))


async def pages(port, report):
    """Pages of other origins, and other names of this address, request a WebSocket and local resources."""
    asked = {
        None: 101, f"http://127.0.0.1:{port}": 101, f"http://localhost:{port}": 403, f"http://127.0.0.1:{port + 1}": 403,
        "https://evil.example": 403, "http://evil.example": 403, "null": 403, "": 403,
    }
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": 13, "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec_WebSocket_Protocol": "holdfast.rooms.v1.json",
    }
    answers = {}
    for origin in asked:
        fields = {} if origin is None else {"Origin": origin}
        answers[origin] = (await ask(port, head("GET /rooms", key=None, Host=f"127.0.0.1:{port}", **upgrade, **fields)))[0]
    report(answers == asked, "pages of other origins open no WebSocket", answers)
    status, _ = await ask(port, head("GET /rooms", key=None, **upgrade, Host="evil.example", Origin="http://evil.example"))
    report(status == 403, "a page of an unknown name of this host opens no WebSocket", status)
    private = ("/metrics", "/status.json", "/status/stream")
    answers = {path: (await ask(port, whole(f"GET {path}", key=None, Host="evil.example")))[0] for path in private}
    report(set(answers.values()) <= {401, 403}, "local resources are refused to other origins", answers)


ATTACKS = [pages, wrong_keys, bad_bodies, paths, pipelines, floods]
