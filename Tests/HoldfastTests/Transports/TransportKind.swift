import Holdfast
import HoldfastTesting
import Testing

/// The transports that the suites in this folder test alike.
enum TransportKind: CaseIterable, CustomTestStringConvertible {
    case memory, urlSession
    #if SwiftNIO
        case tcp, compressedTCP, http2
    #endif

    /// The transports that send pieces of a message at once; the system's WebSocket sends only whole messages.
    #if SwiftNIO
        static let streaming: [Self] = [.memory, .tcp, .compressedTCP]
        static let uncompressed: [Self] = [.memory, .tcp]
        static let overSockets: [Self] = [.tcp, .compressedTCP]
    #else
        static let streaming: [Self] = [.memory]
        static let uncompressed: [Self] = [.memory]
        static let overSockets: [Self] = []
    #endif

    var testDescription: String {
        switch self {
        case .memory: "in memory"
        case .urlSession: "over a stand-in for URLSession"
        #if SwiftNIO
            case .tcp: "over TCP"
            case .compressedTCP: "over TCP, compressed"
            case .http2: "over HTTP/2"
        #endif
        }
    }

    /// Controls the link between two ends.
    struct Link: Sendable {
        let stall, resume, cut: @Sendable () -> Void
    }

    /// Runs `body` with two connected ends, then drops them.
    func withPair(
        _ configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ body: (_ client: any MessageTransport, _ server: any MessageTransport) async throws -> Void
    ) async throws {
        switch self {
        case .memory:
            let (client, server) = MemoryTransport.pair(configuration: configuration)
            try await body(client, server)
        case .urlSession: try await withStandInSocket(configuration) { client, server, _ in try await body(client, server) }
        #if SwiftNIO
            case .tcp, .compressedTCP, .http2:
                try await withServer(configuration) { port, configuration, accepted in
                    try await Self.connect(to: port, configuration, accepted, body)
                }
        #endif
        }
    }

    /// Runs `body` with two connected ends and the link between them, then drops them.
    func withLink(
        _ configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ body: (_ client: any MessageTransport, _ server: any MessageTransport, _ link: Link) async throws -> Void
    ) async throws {
        switch self {
        case .memory:
            let (client, server) = MemoryTransport.pair(configuration: configuration)
            let link = Link {
                client.stall()
            } resume: {
                client.resume()
            } cut: {
                client.cut()
            }
            try await body(client, server, link)
        case .urlSession: try await withStandInSocket(configuration, body)
        #if SwiftNIO
            case .tcp, .compressedTCP, .http2:
                try await withServer(configuration) { port, configuration, accepted in
                    let faulty = try await FaultyLink.start(to: port)
                    defer { faulty.cut() }
                    let link = Link {
                        faulty.stall()
                    } resume: {
                        faulty.resume()
                    } cut: {
                        faulty.cut()
                    }
                    try await Self.connect(to: faulty.port, configuration, accepted) { try await body($0, $1, link) }
                }
        #endif
        }
    }

    /// The bytes that the system's sockets may buffer between the two ends, in addition to the ends' own buffers.
    var slack: Int { self == .memory || self == .urlSession ? 0 : 24 << 20 }
}

extension MessageTransport {
    /// Reads the next message, which must be whole.
    func message() async throws -> Message? {
        switch try await receive() {
        case .message(let message): return message
        case nil: return nil
        case .chunk(let chunk): throw UnexpectedChunk(chunk: chunk)
        }
    }

    /// Sends up to `limit` messages until one fails.
    ///
    /// - Returns: The number of accepted messages, and the failure.
    func flood(_ limit: Int, _ message: (Int) -> Message) async -> (count: Int, TransportError.Code?) {
        for number in 0..<limit {
            do throws(TransportError) { try await send(message(number)) } catch { return (number, error.code) }
        }
        return (limit, nil)
    }
}

struct UnexpectedChunk: Error { let chunk: MessageChunk }

/// A message of 64 KiB that does not compress and begins with a number.
func block(_ number: Int) -> Message {
    var bytes = noise
    (bytes[0], bytes[1]) = (UInt8(number >> 8 & 255), UInt8(number & 255))
    return .binary(bytes)
}

private let noise: [UInt8] = {
    var random = SeededGenerator(seed: 1)
    return (0..<65_536).map { _ in .random(in: .min ... .max, using: &random) }
}()

/// Returns the code of the error that `body` throws; nil if there is none.
func failure(_ body: () async throws -> Void) async -> TransportError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? TransportError)?.code
    }
}
