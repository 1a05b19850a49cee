import Testing
import WebSocketCore

/// RFC 9112 §6 and §7.1.
@Suite struct RefusalBodyTests {
    /// Feeds the pieces.
    ///
    /// Returns the text, and whether the body is complete.
    func read(_ headers: HeaderFields, _ pieces: [[UInt8]], status: Int = 401, limit: Int = 4096) -> (text: String, isComplete: Bool) {
        var body = RefusalBody(of: ResponseHead(status: status, headers: headers), limit: limit)
        for piece in pieces {
            let isComplete = piece.withUnsafeBytes { body.append($0) }
            #expect(isComplete == body.isComplete)
        }
        return (String(decoding: body.bytes, as: UTF8.self), body.isComplete)
    }

    @Test(
        arguments: [
            (["Content-Length": "5"], "helloHTTP/1.1 200 OK", "hello", true), (["Content-Length": "6"], "hello", "hello", false),
            (["Content-Length": "0"], "hello", "", true), ([:], "hello", "hello", false),
            (["Content-Length": "5x"], "hello", "hello", false),
            (["Content-Length": "5", "content-length": "5"], "hello!", "hello", true),
            (["Transfer-Encoding": "chunked"], "3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\n\r\nmore", "hello", true),
            (["Transfer-Encoding": "Chunked", "Content-Length": "1"], "00005\r\nhello\r\n", "hello", false),
            (["Transfer-Encoding": "chunked"], "A\r\n0123456789\r\n0\r\n", "0123456789", true),
            (["Transfer-Encoding": "chunked"], "3\r\nhel\r\nx", "hel", true), (["Transfer-Encoding": "chunked"], "3\r\nhello", "hel", true),
            (["Transfer-Encoding": "chunked"], "ffffffffffffffff\r\nhello", "", true),
            (["Transfer-Encoding": "chunked"], "<html>", "", true),
            (["Transfer-Encoding": "chunked"], "-5\r\nhello", "", true),
        ] as [(HeaderFields, String, String, Bool)])
    func `a body is parsed at every split point`(headers: HeaderFields, bytes: String, text: String, isComplete: Bool) {
        let bytes = Array(bytes.utf8)
        for split in 0...bytes.count {
            let found = read(headers, [Array(bytes[..<split]), Array(bytes[split...])])
            #expect(found == (text, isComplete))
        }
        #expect(read(headers, bytes.map { [$0] }) == (text, isComplete))
    }

    @Test(arguments: [[:], ["Content-Length": "1000000"], ["Transfer-Encoding": "chunked"]] as [HeaderFields])
    func `bytes beyond the limit are not kept`(headers: HeaderFields) {
        let flood = Array("F4240\r\n".utf8) + [UInt8](repeating: 0x61, count: 1_000_000)
        let found = read(headers, [flood, flood], limit: 100)
        #expect(found.text.utf8.count == 100)
        #expect(found.isComplete)
    }

    @Test(arguments: [101, 204, 304])
    func `some statuses have no body`(status: Int) {
        #expect(read(["Content-Length": "5"], [Array("hello".utf8)], status: status) == ("", true))
    }
}
