import Holdfast
import HoldfastTesting
import Testing

/// The transports that the suites in this folder hold to one promise.
enum TransportKind: CaseIterable, CustomTestStringConvertible {
    case memory, urlSession
    #if SwiftNIO
        case tcp, compressedTCP, http2
    #endif

    /// Those that send the pieces of a message as they come; the system's WebSocket takes whole messages only.
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

    /// What can be done to the link between two ends.
    struct Link: Sendable {
        let stall, resume, cut: @Sendable () -> Void
    }

    /// Runs `body` with two connected ends, then drops whatever is left.
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

    /// Runs `body` with two connected ends and the link between them, then drops whatever is left.
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

    /// Bytes that may lie between a sender and one who takes nothing, beside both ends' own buffers: what the system's sockets hold.
    var slack: Int { self == .memory || self == .urlSession ? 0 : 24 << 20 }
}

extension MessageTransport {
    /// Takes the next message, which must be whole.
    func message() async throws -> Message? {
        switch try await receive() {
        case .message(let message): return message
        case nil: return nil
        case .chunk(let chunk): throw UnexpectedChunk(chunk: chunk)
        }
    }

    /// Sends messages until that fails, at most so many; tells how many were accepted, and the failure.
    func flood(_ limit: Int, _ message: (Int) -> Message) async -> (count: Int, TransportError.Code?) {
        for number in 0..<limit {
            do throws(TransportError) { try await send(message(number)) } catch { return (number, error.code) }
        }
        return (limit, nil)
    }
}

struct UnexpectedChunk: Error { let chunk: MessageChunk }

/// 64 KiB that do not compress, beginning with a number.
func block(_ number: Int) -> Message {
    var bytes = noise
    (bytes[0], bytes[1]) = (UInt8(number >> 8 & 255), UInt8(number & 255))
    return .binary(bytes)
}

private let noise: [UInt8] = {
    var random = SeededGenerator(seed: 1)
    return (0..<65_536).map { _ in .random(in: .min ... .max, using: &random) }
}()

/// How a wait ended, without what a test does not look at.
func failure(_ body: () async throws -> Void) async -> TransportError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? TransportError)?.code
    }
}
