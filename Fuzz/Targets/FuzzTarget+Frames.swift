import WebSocketCore
import WebSocketRuntime

extension FuzzTarget {
    static func frames(_ input: inout FuzzInput) throws {
        let choices = input.byte()
        let role: Role = choices & 1 == 0 ? .client : .server
        let (frame, message, fragments) = choices & 2 == 0 ? (1 << 16, 1 << 16, 64) : (40, 60, 3)
        let limits = MessageLimits(frame: frame, message: message, fragments: fragments)
        let forgets = choices & 8 != 0
        let parameters = choices & 4 == 0 ? nil : DeflateParameters(serverNoContextTakeover: forgets, clientNoContextTakeover: forgets)
        let seed = input.byte()
        try header(input.rest, allowsCompression: parameters != nil)

        func transcript(_ delivery: Delivery, seed: UInt8, isFast: Bool = false) throws -> Transcript {
            let inflater = parameters.map { Inflater(parameters: $0, role: role) }
            let reader = MessageReader(role: role, limits: limits, delivery: delivery, inflater: inflater, keepsBytes: isFast)
            return try Transcript(reader, limits: limits, input.rest.pieces(seed: seed), isFast: isFast)
        }
        let whole = try transcript(.messages, seed: 0)
        for (delivery, seed, isFast) in [
            (Delivery.messages, seed, false), (.chunks, 0, false), (.chunks, seed, false), (.messages, 0, true), (.messages, seed, true),
        ] {
            let other = try transcript(delivery, seed: seed, isFast: isFast)
            try expectEqual(whole.entries, other.entries, "the cuts of the network, or chunks, change what is read")
            // A compressed message can be too big and invalid at once. The cuts decide which violation comes first.
            if parameters == nil { try expectEqual(whole.violation, other.violation, "the cuts change the violation") }
            try expectEqual(whole.violation == nil, other.violation == nil, "the cuts change whether there is a violation")
        }
    }

    /// A header has only one form, so it is written as it was read.
    private static func header(_ bytes: UnsafeRawBufferPointer, allowsCompression: Bool) throws {
        guard let (header, length) = try? FrameHeader.parse(bytes, allowsCompression: allowsCompression) else { return }
        try expect(header.payloadLength >= 0, "a negative length")
        try expectEqual(header.length, length, "another length when written")
        let written = withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) {
            header.write(to: $0)
            return Array($0)
        }
        try expectEqual(written, Array(bytes.prefix(length)), "a header is not written as it was read")
        for end in 0..<length {
            let prefix = UnsafeRawBufferPointer(rebasing: bytes[..<end])
            try expect(try FrameHeader.parse(prefix, allowsCompression: allowsCompression) == nil, "half a header was accepted")
        }
    }
}
