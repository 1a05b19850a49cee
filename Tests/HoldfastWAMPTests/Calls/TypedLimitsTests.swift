import CodecCore
import Foundation
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import Testing
import WAMPCore

@Suite("Limits of depth and length of typed values", .timeLimit(.minutes(1))) struct TypedLimitsTests {
    /// Nested arrays.
    struct Nest: Codable, Sendable {
        var depth: Int

        init(depth: Int) { self.depth = depth }

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            depth = list.isAtEnd ? 0 : try list.decode(Nest.self).depth + 1
        }
        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            if depth > 0 { try list.encode(Nest(depth: depth - 1)) }
        }
    }
    static let deep = Procedure<Nest, Nest>("com.app.deep")

    @Test("the limits of the client apply to typed values", arguments: WAMPSerialization.allCases)
    func depth(_ serialization: WAMPSerialization) async throws {
        var options = WAMPOptions()
        options.limits = CodecLimits(maximumDepth: 200)
        let (stage, peer) = try await WAMPStage.joined(serialization, options: options)
        async let nest = stage.wamp.call(Self.deep, Nest(depth: 100))
        let call = try await peer.call()
        try await peer.answer(call, [(0..<150).reduce([]) { value, _ in [value] }])
        #expect(try await nest.depth == 150)
    }

    @Test("a value that is too deep is not sent", arguments: WAMPSerialization.allCases)
    func endless(_ serialization: WAMPSerialization) async throws {
        let (stage, peer) = try await WAMPStage.joined(serialization)
        let error = await #expect(throws: WAMPError.self) { try await stage.wamp.call(Self.deep, Nest(depth: 1000)) }
        #expect(error?.code == .unencodable)
        withExtendedLifetime(peer) {}
    }

    @Test("the limit of length does not apply to sent values")
    func length() async throws {
        let long = Procedure<Data, Void>("com.app.long")
        let data = Data(count: 65 << 20)
        let apart = WAMPStage()
        let error = await #expect(throws: WAMPError.self) { try await apart.wamp.call(long, data, options: CallOptions(joinPatience: nil)) }
        #expect(error?.code == .notJoined)
        var configuration = WebSocketConfiguration()
        configuration.limits.message = 128 << 20
        let stage = WAMPStage(configuration: configuration)
        let peer = try await stage.accept()
        try await stage.wamp.joined()
        let calling = Task { try await stage.wamp.call(long, data) }
        guard case .message(let message)? = try await peer.transport.receive() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(message.withBytes(\.count) > data.count)
        calling.cancel()
        _ = await calling.result
    }
}
