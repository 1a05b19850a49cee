/// Unmasks compressed payloads piece by piece on their way into the inflater.
struct Inflation {
    /// The most bytes that are unmasked at once.
    static let pieceLength = 8192

    private let inflater: any MessageInflater
    /// Allocated at the first masked piece; then kept.
    private var scratch: [UInt8] = []

    init(_ inflater: any MessageInflater) { self.inflater = inflater }

    mutating func inflate(
        _ payload: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int, into output: inout [UInt8], limit: Int
    ) throws(ProtocolViolation) {
        guard let mask else { return try unsafe inflater.inflate(payload, into: &output, limit: limit) }
        if scratch.isEmpty { scratch = [UInt8](repeating: 0, count: Self.pieceLength) }
        let start = output.count
        var offset = 0
        while offset < payload.count {
            let piece = unsafe UnsafeRawBufferPointer(rebasing: payload[offset...].prefix(Self.pieceLength))
            try unsafe scratch.withUnsafeMutableBufferPointer { scratch throws(ProtocolViolation) in
                unsafe mask.copy(piece, to: UnsafeMutableRawBufferPointer(scratch), phase: phase + offset)
                let unmasked = unsafe UnsafeRawBufferPointer(start: scratch.baseAddress, count: piece.count)
                try unsafe inflater.inflate(unmasked, into: &output, limit: limit - (output.count - start))
            }
            offset += piece.count
        }
    }

    func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        try inflater.finish(into: &output, limit: limit)
    }
}
