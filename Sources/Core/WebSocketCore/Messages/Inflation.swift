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

/// Decompresses the messages of one direction of one connection, in order (RFC 7692 §7.2.2).
public protocol MessageInflater: AnyObject {
    /// Inflates a piece of one message into `room`, as far as that goes; both move on past what was used of them.
    ///
    /// If room is left, all of `input` is used, and with `isLast` the message has ended. If none is left, more may come out: the call
    /// is repeated with new room and the rest of the input, which may be empty. `room` is never empty when the call is made.
    /// The last piece of a message ends with the whole tail `00 00 FF FF` that its sender left out (§7.2.2).
    /// Throws `invalidCompressedData` for a bad stream, and for a message that ends inside a block.
    func inflate(
        _ input: inout UnsafeRawBufferPointer, isLast: Bool, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation)
}

extension MessageInflater {
    /// Inflates a piece of one message, not the tail of its last one, and appends what comes out to `output`.
    ///
    /// Throws `messageTooBig` instead of appending more than `limit` bytes in this call, and `invalidCompressedData` for a bad stream.
    /// The array grows only as bytes come out, whatever the stream may promise.
    public func inflate(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        var rest = unsafe input
        try unsafe inflate(all: &rest, isLast: false, into: &output, upTo: output.end(after: limit))
    }

    /// Ends the message: feeds `00 00 FF FF` (RFC 7692 §7.2.2) and forgets the context when takeover is off.
    ///
    /// Throws as ``inflate(_:into:limit:)`` does, and `invalidCompressedData` if the message ends inside a block.
    public func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        let end = output.end(after: limit)
        try unsafe withUnsafeBytes(of: DeflateTail.bytes) { tail throws(ProtocolViolation) in
            var rest = unsafe tail
            try unsafe inflate(all: &rest, isLast: true, into: &output, upTo: end)
        }
    }

    /// Inflates all of `input`; there may be `end` bytes in `output` then, and no more.
    ///
    /// The copy out of the room costs less than to clear room in the array would.
    func inflate(
        all input: inout UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8], upTo end: Int
    ) throws(ProtocolViolation) {
        // Text often shrinks to a quarter. Up to 1 KiB is taken from the stack.
        var size = input.count <= 256 ? 1024 : 16 * 1024
        while true {
            // At most one byte more than allowed, to see whether there is one.
            let left = end - output.count
            let length = size > left ? left + 1 : size
            let isFull = unsafe try withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { room throws(ProtocolViolation) in
                var free = unsafe room
                defer { unsafe output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<min(length - free.count, left)])) }
                try unsafe inflate(&input, isLast: isLast, into: &free)
                return unsafe free.isEmpty
            }
            guard isFull else { return }
            guard length <= left else { throw ProtocolViolation.inflatedTooBig }
            size = 16 * 1024
        }
    }
}

/// What every compressed message ends with, and no sender sends (RFC 7692 §7.2.1).
enum DeflateTail {
    static let length = 4
    static var bytes: UInt32 { UInt32(0x0000_FFFF).bigEndian }
}

extension ProtocolViolation {
    static var inflatedTooBig: ProtocolViolation {
        ProtocolViolation(.messageTooBig, "a compressed message grows beyond what is allowed (limits.message)")
    }
}

extension [UInt8] {
    /// How many bytes there may be once `limit` more have been appended.
    fileprivate func end(after limit: Int) -> Int { limit > Int.max - count ? Int.max : count + Swift.max(limit, 0) }
}

/// Compresses the messages of one direction of one connection, in order (RFC 7692 §7.2.1).
public protocol MessageDeflater: AnyObject {
    /// Compresses a piece of one message and appends what comes out to `output`.
    ///
    /// With `isLast` it flushes, removes the tail `00 00 FF FF` and forgets the context when takeover is off.
    func deflate(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8])
}
