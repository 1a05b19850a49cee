import MachineCore
import WebSocketCore

extension FuzzTarget {
    static func request(_ input: inout FuzzInput) throws {
        let (limit, seed) = (input.choose([16_384, 64, 300]), input.byte())
        let preferences = preferences(&input)
        guard let head: RequestHead = try head(input.rest, limit: limit, seed: seed)?.head else { return }
        _ = (head.path, head.query, head.description)
        try expect(!head.path.isEmpty, "an empty path")
        do throws(HandshakeFailure) {
            let handshake = try ServerHandshake(head)
            let agreement = try handshake.accept(subprotocol: handshake.offeredSubprotocols.first, deflate: preferences)
            _ = try agreement.response.encoded()
        } catch {
            guard let refusal = error.refusal else { throw Finding(description: "no answer to \(error)") }
            _ = try refusal.encoded()
        }
    }

    static func response(_ input: inout FuzzInput) throws {
        let (limit, seed) = (input.choose([16_384, 64, 300]), input.byte())
        let preferences = preferences(&input)
        // The same key in every run, so that the corpus can contain the answer.
        var random = SplitMix64(seed: 0)
        let url = try WebSocketURL("ws://example.com/")
        let handshake = try ClientHandshake(url: url, subprotocols: ["chat", "superchat"], deflate: preferences, using: &random)
        guard let (head, rest): (ResponseHead, UnsafeRawBufferPointer) = try head(input.rest, limit: limit, seed: seed) else { return }
        try expect(100...999 ~= head.status, "status \(head.status)")
        if let agreement = try? handshake.check(head) {
            try expect(head.status == 101, "a refusal was accepted")
            try expect([nil, "chat", "superchat"].contains(agreement.subprotocol), "a subprotocol that was not offered")
            if let deflate = agreement.deflate {
                try expect(8...preferences.serverMaxWindowBits ~= deflate.serverMaxWindowBits, "the server's window: \(deflate)")
                try expect(8...preferences.clientMaxWindowBits ~= deflate.clientMaxWindowBits, "our window: \(deflate)")
                try expect(deflate.serverNoContextTakeover || !preferences.serverNoContextTakeover, "takeover: \(deflate)")
                try expect(deflate.clientNoContextTakeover || !preferences.clientNoContextTakeover, "takeover: \(deflate)")
            }
        }
        var (whole, cut) = (RefusalBody(of: head, limit: 500), RefusalBody(of: head, limit: 500))
        _ = whole.append(rest)
        for piece in rest.pieces(seed: seed) { _ = cut.append(piece) }
        try expectEqual(whole, cut, "the cuts change the body")
        try expect(whole.bytes.count <= 500, "a body beyond its limit")
    }

    /// Parses a head, whole and in pieces, then writes and parses it again.
    private static func head<Head: MessageHead & Equatable & Encodable>(
        _ bytes: UnsafeRawBufferPointer, limit: Int, seed: UInt8
    ) throws -> (head: Head, rest: UnsafeRawBufferPointer)? {
        let whole: Parsed<Head> = parsed(bytes, limit: limit, seed: 0)
        let cut: Parsed<Head> = parsed(bytes, limit: limit, seed: seed)
        try expectEqual(whole, cut, "the cuts change the head")
        guard let head = whole.head else { return nil }
        try expect(whole.used <= limit, "a head of \(whole.used) bytes")
        let encoded = try head.encoded()
        let again: Parsed<Head> = encoded.withUnsafeBytes { parsed($0, limit: .max, seed: 0) }
        try expectEqual(again.head, head, "a head is not written as it was read")
        return (head, UnsafeRawBufferPointer(rebasing: bytes[whole.used...]))
    }

    private struct Parsed<Head: Equatable>: Equatable {
        var (head, failure, used) = (nil as Head?, nil as HandshakeFailure?, 0)
    }

    private static func parsed<Head: MessageHead & Equatable>(
        _ bytes: UnsafeRawBufferPointer, limit: Int, seed: UInt8
    ) -> Parsed<Head> {
        var (parser, result) = (HeadParser<Head>(limit: limit), Parsed<Head>())
        for piece in bytes.pieces(seed: seed) {
            var rest = piece
            do throws(HandshakeFailure) {
                result.head = try parser.parse(&rest)
            } catch {
                (result.failure, result.used) = (error, 0)
                return result
            }
            result.used += piece.count - rest.count
            if result.head != nil { return result }
        }
        return result
    }

    static func preferences(_ input: inout FuzzInput) -> DeflatePreferences {
        let (choices, windows) = (input.byte(), input.byte())
        return DeflatePreferences(
            serverNoContextTakeover: choices & 1 != 0, clientNoContextTakeover: choices & 2 != 0,
            serverMaxWindowBits: 15 - Int(windows % 8), clientMaxWindowBits: 15 - Int(windows / 8 % 8))
    }
}

/// A head that can be written.
protocol Encodable { func encoded() throws(HandshakeFailure) -> [UInt8] }
extension RequestHead: Encodable {}
extension ResponseHead: Encodable {}
