/// Unmasks compressed payloads on their way into the inflater.
///
/// Between messages it holds no buffer, for most connections are idle.
struct Inflation {
    /// The most bytes that are unmasked at once.
    static let pieceLength = 8192
    /// The least and the most room that a message gets at first; the least is taken from the stack.
    static let rooms = 1024...256 * 1024

    private let inflater: any MessageInflater
    /// Room that the next message will fit into if it is like those before it.
    private(set) var typicalRoom = Self.rooms.lowerBound

    init(_ inflater: any MessageInflater) { self.inflater = inflater }

    /// Inflates a message whose payload has come as a whole; what `body` gets is valid until it returns.
    ///
    /// The memory is borrowed for this long; nothing is copied if the message fits into the room that those before it needed.
    mutating func withWhole<Result>(
        _ payload: UnsafeRawBufferPointer, mask: MaskKey?, limit: Int,
        _ body: (UnsafeRawBufferPointer) throws(ProtocolViolation) -> Result
    ) throws(ProtocolViolation) -> Result {
        // At most one byte more than allowed, to see whether there is one.
        let length = typicalRoom > limit ? limit + 1 : typicalRoom
        return unsafe try withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { room throws(ProtocolViolation) in
            var (free, longer) = unsafe (room, [] as [UInt8])
            try unsafe withPieces(of: payload, mask: mask, hasTail: true) { piece, isLast throws(ProtocolViolation) in
                if unsafe !free.isEmpty {
                    try unsafe inflater.inflate(&piece, isLast: isLast, into: &free)
                    guard unsafe free.isEmpty else { return }
                    guard length <= limit else { throw ProtocolViolation.inflatedTooBig }
                    unsafe longer.append(contentsOf: UnsafeRawBufferPointer(room))
                }
                try unsafe inflater.inflate(all: &piece, isLast: isLast, into: &longer, upTo: limit)
            }
            learn(max(length - free.count, longer.count))
            guard longer.isEmpty else {
                return try unsafe longer.withUnsafeBufferPointer { bytes throws(ProtocolViolation) in
                    try unsafe body(UnsafeRawBufferPointer(bytes))
                }
            }
            return try unsafe body(UnsafeRawBufferPointer(rebasing: room[..<(length - free.count)]))
        }
    }

    /// Inflates the next piece of a message's payload and appends what comes out.
    func inflate(
        _ payload: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int, into output: inout [UInt8], limit: Int
    ) throws(ProtocolViolation) {
        guard mask != nil else { return try unsafe inflater.inflate(payload, into: &output, limit: limit) }
        let start = output.count
        try unsafe withPieces(of: payload, mask: mask, phase: phase) { piece, _ throws(ProtocolViolation) in
            try unsafe inflater.inflate(UnsafeRawBufferPointer(piece), into: &output, limit: limit - (output.count - start))
        }
    }

    /// Ends a message that came in pieces.
    func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        try inflater.finish(into: &output, limit: limit)
    }

    /// Lends unmasked copies of a payload's pieces.
    ///
    /// The last one ends with the tail if that is wanted, which is cheaper than to feed the tail in a call of its own.
    private func withPieces(
        of payload: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int = 0, hasTail: Bool = false,
        _ body: (_ piece: inout UnsafeRawBufferPointer, _ isLast: Bool) throws(ProtocolViolation) -> Void
    ) throws(ProtocolViolation) {
        let length = min(payload.count, Self.pieceLength) + DeflateTail.length
        try unsafe withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { copy throws(ProtocolViolation) in
            var offset = 0
            repeat {
                let source = unsafe UnsafeRawBufferPointer(rebasing: payload[offset...].prefix(Self.pieceLength))
                unsafe source.copy(to: copy, mask: mask, phase: phase + offset)
                offset += source.count
                let isLast = offset == payload.count
                if isLast { unsafe copy.storeBytes(of: DeflateTail.bytes, toByteOffset: source.count, as: UInt32.self) }
                let count = source.count + (isLast && hasTail ? DeflateTail.length : 0)
                var piece = unsafe UnsafeRawBufferPointer(rebasing: copy[..<count])
                try unsafe body(&piece, isLast)
            } while offset < payload.count
        }
    }

    /// Guesses that the next message is little longer than the longest of late.
    ///
    /// zlib is slower where less room than the longest match is left, 258 bytes.
    private mutating func learn(_ count: Int) {
        let needed = count > Self.rooms.upperBound ? Self.rooms.upperBound : count + count / 4 + 258
        typicalRoom = min(max(needed, typicalRoom - typicalRoom / 8, Self.rooms.lowerBound), Self.rooms.upperBound)
    }
}
