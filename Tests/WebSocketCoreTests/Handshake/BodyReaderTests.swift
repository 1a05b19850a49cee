import Testing
import WebSocketCore

@Suite struct BodyReaderTests {
    private func reader(_ headers: HeaderFields, minorVersion: Int = 1) throws -> BodyReader {
        try BodyReader(of: RequestHead(method: "POST", target: "/", minorVersion: minorVersion, headers: headers))
    }

    /// The content and the remaining bytes of a body that arrives in pieces of `count` bytes.
    ///
    /// Nil if the body does not end.
    private func read(_ text: String, _ headers: HeaderFields, by count: Int) throws -> (content: String, rest: String)? {
        var (reader, bytes, content) = (try reader(headers), Array(text.utf8)[...], [UInt8]())
        while true {
            let piece = Array(bytes.prefix(count))
            switch try piece.withUnsafeBytes({ try reader.next($0) }) {
            case .content(let length):
                content += piece.prefix(length)
                bytes.removeFirst(length)
            case .framing(let length): bytes.removeFirst(length)
            case .more: return nil
            case .end:
                #expect(reader.isAtEnd)
                return (String(decoding: content, as: UTF8.self), String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    @Test func `a request without a length has no body`() throws {
        #expect(try reader([:]).isAtEnd && reader(["Content-Length": "0"]).isAtEnd)
        let read = try #require(try read("GET", [:], by: 1))
        #expect(read == ("", "GET"))
    }

    @Test(arguments: [1, 2, 3, 100])
    func `Content-Length sets the length of a body`(count: Int) throws {
        let whole = try #require(try read("abcdeGET", ["Content-Length": "5"], by: count))
        #expect(whole == ("abcde", "GET"))
        #expect(try read("abcd", ["Content-Length": "5"], by: count) == nil)
    }

    @Test(arguments: [1, 2, 3, 100])
    func `the content of chunks is joined, without the framing`(count: Int) throws {
        let text = "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n000 \t;z\r\nSum: 1\r\nMore: 2\r\n\r\nGET"
        let whole = try #require(try read(text, ["Transfer-Encoding": "Chunked"], by: count))
        #expect(whole == ("abc0123456789", "GET"))
        for length in 0..<(text.utf8.count - 3) {
            #expect(
                try read(String(decoding: text.utf8.prefix(length), as: UTF8.self), ["Transfer-Encoding": "chunked"], by: count) == nil,
                "\(length)")
        }
    }

    @Test(
        arguments: [
            "x\r\n", "\r\n", ";a\r\n", "-1\r\n", "1\n", "1\r\nab", "1\r\na\n", "1\r\na\rb", "0\r\nA\n", "0\r\n\r\r",
            "fffffffffffffffff\r\n", "1\rx", "1 \n", "1 \r\n", "1\t\r\n", "1 1\r\n", "1 x\r\n", " 1\r\n",
            "1" + String(repeating: " ", count: 9000),
            "1;" + String(repeating: "x", count: 9000), "0\r\n" + String(repeating: "a: b\r\n", count: 2000),
        ])
    func `invalid chunks are refused`(text: String) {
        for count in [1, 100_000] {
            #expect(throws: HandshakeFailure.self) { try read(text, ["Transfer-Encoding": "chunked"], by: count) }
        }
    }

    @Test(
        arguments: [
            ["Content-Length": "-1"], ["Content-Length": "x"], ["Content-Length": ""], ["Content-Length": "+1"], ["Content-Length": "3, 3"],
            ["Content-Length": "3", "Content-Length": "3"], ["Content-Length": "9999999999999999999"],
            ["Content-Length": "3", "Transfer-Encoding": "chunked"],
        ] as [HeaderFields])
    func `an ambiguous length is refused`(headers: HeaderFields) {
        #expect { try reader(headers) } throws: { ($0 as? HandshakeFailure)?.kind == .invalidBody }
    }

    @Test func `other transfer codings are refused`() {
        for headers in [["Transfer-Encoding": "gzip, chunked"], ["Transfer-Encoding": "chunked", "Transfer-Encoding": "chunked"]]
            as [HeaderFields]
        {
            #expect { try reader(headers) } throws: { ($0 as? HandshakeFailure)?.refusal?.status == 501 }
        }
        #expect { try reader(["Transfer-Encoding": "chunked"], minorVersion: 0) } throws: {
            ($0 as? HandshakeFailure)?.kind == .invalidBody
        }
    }
}
