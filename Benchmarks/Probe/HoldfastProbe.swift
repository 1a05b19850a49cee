import HoldfastCodecs
import RoomsWire
import WebSocketCore

/// Small pieces of work whose instructions are counted; see `make bench-quick` in `Benchmarks/README.md`.
///
/// `HoldfastProbe WORK MESSAGES` does one of them without randomness or concurrency, so that every run has the same cost.
/// Its main function is not `async`, because valgrind fails on that.
@main
enum HoldfastProbe {
    /// Processes this number of messages, a multiple of 1024 so that all bursts are full.
    typealias Work = (_ messages: Int) throws -> Void

    static var works: KeyValuePairs<String, Work> {
        [
            "parse-binary-32": { try Parsing(.binary, size: 32).inPlace($0) },
            "parse-text-32": { try Parsing(.text, size: 32).inPlace($0) },
            "parse-binary-1024": { try Parsing(.binary, size: 1024).inPlace($0) },
            "parse-message-32": { try Parsing(.binary, size: 32).intoMessages($0) },
            "send-server-32": { try Wire.send(as: .server, size: 32, messages: $0) },
            "send-client-32": { try Wire.send(as: .client, size: 32, messages: $0) },
            "echo-bytes-32": { try Wire.echoBytes(size: 32, messages: $0) },
            "echo-inline-32": { try Wire.echoInline(size: 32, messages: $0) },
            "echo-task-32": { try Wire.echoInTask(size: 32, messages: $0) },
            "receive-inline-32": { try Wire.receiveInline(size: 32, messages: $0) },
            "encode-msgpack": { try Coding.encode(with: MessagePackCodec(), $0) },
            "decode-msgpack": { try Coding.decode(with: MessagePackCodec(), $0) },
            "encode-cbor": { try Coding.encode(with: CBORCodec(), $0) },
            "decode-cbor": { try Coding.decode(with: CBORCodec(), $0) },
            "encode-msg-json": { try RoomFrames.encodeEntry(.json, $0) },
            "decode-pub-json": { try RoomFrames.decodePublication(.json, $0) },
            "encode-msg-protobuf": { try RoomFrames.encodeEntry(.protobuf, $0) },
            "decode-pub-protobuf": { try RoomFrames.decodePublication(.protobuf, $0) },
            "compress-json-1024": { try Compression(size: 1024).throughHoldfast($0) },
            "compress-json-1024-zlib": { try Compression(size: 1024).throughZlib($0) },
        ]
    }

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let messages = Int(arguments[2]), let work = works.first(where: { $0.key == arguments[1] }) else {
            throw Failure("usage: HoldfastProbe WORK MESSAGES, with WORK one of \(works.map(\.key))")
        }
        try work.value(messages)
    }
}

/// A wrong result, with which a count would be meaningless.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func check<Value: Equatable>(_ what: String, _ value: Value, _ expected: Value) throws {
        guard value == expected else { throw Failure("\(what): \(value), expected \(expected)") }
    }
}
