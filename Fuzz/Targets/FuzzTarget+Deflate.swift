import WebSocketCore
import WebSocketRuntime

extension FuzzTarget {
    static func inflate(_ input: inout FuzzInput) throws {
        let windowBits = 15 - Int(input.byte() % 8)
        let takeover = input.byte() % 2 == 0
        let limit = input.choose([1 << 16, 0, 1, 100, 5000, 1 << 20])
        let seed = input.byte()
        let parameters = DeflateParameters(
            serverNoContextTakeover: !takeover, clientNoContextTakeover: !takeover,
            serverMaxWindowBits: windowBits, clientMaxWindowBits: windowBits)
        let whole = try inflated(input.rest, parameters, limit: limit, seed: 0)
        let cut = try inflated(input.rest, parameters, limit: limit, seed: seed)
        // With a smaller window zlib may accept a match that is too far back, depending on the cuts.
        if windowBits == 15 { try expectEqual(whole, cut, "the cuts change the output") }
    }

    /// Inflates the same message three times, so that the window matters.
    ///
    /// Returns nil if it is refused.
    private static func inflated(
        _ message: UnsafeRawBufferPointer, _ parameters: DeflateParameters, limit: Int, seed: UInt8
    ) throws -> [[UInt8]?] {
        let inflater = Inflater(parameters: parameters, role: .client)
        var outputs: [[UInt8]?] = []
        for _ in 1...3 {
            var output: [UInt8] = []
            do throws(ProtocolViolation) {
                for piece in message.pieces(seed: seed) { try inflater.inflate(piece, into: &output, limit: limit - output.count) }
                try inflater.finish(into: &output, limit: limit - output.count)
            } catch {
                try expect(output.count <= limit, "\(output.count) bytes, but at most \(limit) are allowed")
                try expect(error.kind == .invalidCompressedData || error.kind == .messageTooBig, "\(error)")
                return outputs + [nil]
            }
            try expect(output.count <= limit, "\(output.count) bytes, but at most \(limit) are allowed")
            outputs.append(output)
        }
        return outputs
    }

    static func deflate(_ input: inout FuzzInput) throws {
        let windowBits = 15 - Int(input.byte() % 8)
        let takeover = input.byte() % 2 == 0
        let options = CompressionOptions(level: Int(input.byte() % 9) + 1, memoryLevel: Int(input.byte() % 9) + 1)
        let (cuts, messages) = (input.byte(), input.byte())
        let parameters = DeflateParameters(
            serverNoContextTakeover: !takeover, clientNoContextTakeover: !takeover,
            serverMaxWindowBits: windowBits, clientMaxWindowBits: windowBits)
        let deflater = Deflater(parameters: parameters, role: .client, options: options)
        let inflater = Inflater(parameters: parameters, role: .server)
        for message in input.rest.pieces(seed: messages) + [UnsafeRawBufferPointer(rebasing: input.rest.prefix(0))] {
            var (compressed, output) = ([] as [UInt8], [] as [UInt8])
            for piece in message.pieces(seed: cuts) { deflater.deflate(piece, isLast: false, into: &compressed) }
            deflater.deflate(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true, into: &compressed)
            try expect(!compressed.isEmpty, "a message without a byte")
            try compressed.withUnsafeBytes {
                for piece in $0.pieces(seed: cuts) { try inflater.inflate(piece, into: &output, limit: message.count - output.count) }
            }
            try inflater.finish(into: &output, limit: message.count - output.count)
            try expectEqual(output, Array(message), "another message comes back")
        }
    }
}
