import WebSocketCore
import WebSocketRuntime

/// What permessage-deflate makes of payloads, with a window of 32 KiB and the default level.
struct DeflatedMessages {
    let payloads: [[UInt8]]
    /// Whether a message may refer to those before it.
    let takesContextOver: Bool

    /// Deflates and inflates all, as one connection does with its two ends.
    ///
    /// - Returns: The bytes that were on the way.
    func exchange() throws -> Int {
        let parameters = DeflateParameters(
            serverNoContextTakeover: !takesContextOver, clientNoContextTakeover: !takesContextOver, serverMaxWindowBits: 15,
            clientMaxWindowBits: 15)
        let deflater = Deflater(parameters: parameters, role: .client)
        let inflater = Inflater(parameters: parameters, role: .server)
        var (total, packed, unpacked) = (0, [UInt8](), [UInt8]())
        for payload in payloads {
            packed.removeAll(keepingCapacity: true)
            unpacked.removeAll(keepingCapacity: true)
            payload.withUnsafeBytes { deflater.deflate($0, isLast: true, into: &packed) }
            total += packed.count
            try packed.withUnsafeBytes { try inflater.inflate($0, into: &unpacked, limit: payload.count) }
            try inflater.finish(into: &unpacked, limit: payload.count - unpacked.count)
        }
        return total
    }
}
