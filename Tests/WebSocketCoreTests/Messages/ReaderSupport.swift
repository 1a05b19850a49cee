import WebSocketCore

/// A frame for a reader.
///
/// Its fields are those of `FrameHeader` and may be invalid.
struct WireFrame {
    var opcode: Opcode
    var payload: [UInt8]
    var isFinal = true
    var isCompressed = false
    var mask: MaskKey? = MaskKey(bits: 0xC3_5A_81_6E)

    init(_ opcode: Opcode, _ payload: some Sequence<UInt8>, isFinal: Bool = true, isCompressed: Bool = false) {
        (self.opcode, self.payload, self.isFinal, self.isCompressed) = (opcode, Array(payload), isFinal, isCompressed)
    }

    func bytes(from sender: Role = .client) -> [UInt8] {
        let mask = sender == .client ? mask : nil
        let header = FrameHeader(opcode, isFinal: isFinal, isCompressed: isCompressed, mask: mask, payloadLength: payload.count)
        var bytes = [UInt8](repeating: 0, count: header.length) + payload
        bytes.withUnsafeMutableBytes {
            header.write(to: $0)
            mask?.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[header.length...]))
        }
        return bytes
    }
}

/// The events and the violation that a reader gave for a stream.
struct Reading: Equatable {
    var events: [MessageReader.Event] = []
    var violation: ProtocolViolation?
    /// The number of bytes that the reader left although it needed more.
    ///
    /// Must be zero.
    var leftovers = 0

    /// The same reading with consecutive chunks of a message joined, because chunk sizes depend on the reads.
    var joined: Reading {
        var copy = self
        copy.events = []
        var open: MessageChunk?
        for event in events {
            guard case .chunk(let chunk) = event else {
                copy.events.append(event)
                continue
            }
            open = MessageChunk(kind: chunk.kind, bytes: (open?.bytes ?? []) + chunk.bytes, isLast: chunk.isLast)
            if chunk.isLast, let whole = open {
                copy.events.append(.chunk(whole))
                open = nil
            }
        }
        return copy
    }
}

extension MessageReader {
    /// Feeds the bytes of one read, at any alignment.
    mutating func feed(_ bytes: some Collection<UInt8>, into reading: inout Reading) {
        Array(bytes).withUnsafeBytes { raw in
            var rest = raw
            do throws(ProtocolViolation) {
                while let event = try next(&rest) { reading.events.append(event) }
            } catch {
                reading.violation = error
            }
            reading.leftovers += rest.count
        }
    }
}

/// The result of a new reader for these reads in order.
func reading(_ reads: [some Collection<UInt8>], by reader: MessageReader) -> Reading {
    var (reader, reading) = (reader, Reading())
    for read in reads { reader.feed(read, into: &reading) }
    return reading
}

/// A stand-in for zlib that writes each byte twice and a full stop for the tail.
///
/// The byte 0xFF is an invalid stream.
final class DoublingInflater: MessageInflater {
    private(set) var finished = 0
    /// Output that did not fit yet.
    private var pending: [UInt8] = []

    func inflate(
        _ input: inout UnsafeRawBufferPointer, isLast: Bool, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) {
        let endsHere = isLast && !input.isEmpty
        let piece = endsHere ? input.dropLast(4) : input[...]
        guard !piece.contains(0xFF) else { throw ProtocolViolation(.invalidCompressedData, "FF") }
        guard !endsHere || Array(input.suffix(4)) == [0, 0, 0xFF, 0xFF] else { throw ProtocolViolation(.invalidCompressedData, "no tail") }
        for byte in piece { pending += [byte, byte] }
        if endsHere { (finished, pending) = (finished + 1, pending + [0x2E]) }
        input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
        let count = min(pending.count, room.count)
        room.copyBytes(from: pending[..<count])
        room = UnsafeMutableRawBufferPointer(rebasing: room[count...])
        pending.removeFirst(count)
    }
}

/// A Xorshift generator.
///
/// Equal seeds give equal numbers.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 24) } }
}
