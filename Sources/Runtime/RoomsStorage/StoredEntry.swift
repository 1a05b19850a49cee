import CodecCore
package import RoomCore

/// The format of an entry in a file: everything except its number, which is its key.
///
///     1 byte   flags: 1 about another, 2 binary payload, 4 admin, 8 sealed
///     8 bytes  at, little endian
///     16       id
///     16       device
///     varints  cseq; sent − at, zigzag
///     texts    user, type, and with flag 1 the kind and number of the reference: each a varint of its length, and bytes
///     the rest the payload, and with flag 8 a checksum of the number and all bytes before, 8 bytes, little endian
package enum StoredEntry {
    private static let (about, binary, admin, sealed): (UInt8, UInt8, UInt8, UInt8) = (1, 2, 4, 8)

    /// Appends an entry to a buffer.
    ///
    /// - Parameter isSealed: Whether to add a checksum, with which ``decode(_:seq:)`` detects changed bytes.
    package static func encode(_ entry: Entry, isSealed: Bool = false, into bytes: inout [UInt8]) {
        let start = bytes.count
        var flags: UInt8 = isSealed ? sealed : 0
        if entry.about != nil { flags |= about }
        if case .binary = entry.payload { flags |= binary }
        if entry.isAdmin { flags |= admin }
        bytes.append(flags)
        fixed(UInt64(bitPattern: entry.at), into: &bytes)
        for half in [entry.id.bits.high, entry.id.bits.low, entry.device.bits.high, entry.device.bits.low] { fixed(half, into: &bytes) }
        varint(UInt64(bitPattern: entry.cseq), into: &bytes)
        let ahead = entry.sent &- entry.at
        varint(UInt64(bitPattern: ahead << 1 ^ ahead >> 63), into: &bytes)
        text(entry.user.text, into: &bytes)
        text(entry.type, into: &bytes)
        if let about = entry.about {
            text(about.kind, into: &bytes)
            varint(UInt64(bitPattern: about.seq), into: &bytes)
        }
        switch entry.payload {
        case .json(let payload), .binary(let payload): bytes.append(contentsOf: payload)
        }
        guard isSealed else { return }
        fixed(bytes.withUnsafeBytes { seal(UnsafeRawBufferPointer(rebasing: $0[start...]), seq: entry.seq) }, into: &bytes)
    }

    /// Decodes an entry; returns nil if the bytes are invalid, or do not match their checksum.
    package static func decode(_ bytes: UnsafeRawBufferPointer, seq: Int64) -> Entry? {
        var bytes = bytes
        if let flags = bytes.first, flags & sealed != 0 {
            guard bytes.count > 8 else { return nil }
            let written = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropLast(8))
            guard seal(bytes, seq: seq) == written else { return nil }
        }
        var rest = Rest(bytes)
        guard let flags = rest.byte(), flags < 16, let at = rest.fixed(), let id = rest.bits(), let device = rest.bits(),
            let cseq = rest.varint(), let ahead = rest.varint(), let user = rest.text().flatMap({ UserName($0) }), let type = rest.text()
        else { return nil }
        var reference: Reference?
        if flags & about != 0 {
            guard let kind = rest.text(), let seq = rest.varint() else { return nil }
            reference = Reference(kind: kind, seq: Int64(bitPattern: seq))
        }
        let payload = rest.remainder()
        let sent = Int64(bitPattern: at) &+ (Int64(bitPattern: ahead >> 1) ^ -Int64(bitPattern: ahead & 1))
        return Entry(
            seq: seq, id: MessageID(id), device: DeviceID(device), cseq: Int64(bitPattern: cseq), user: user, at: Int64(bitPattern: at),
            sent: sent, type: type, about: reference, payload: flags & binary == 0 ? .json(payload) : .binary(payload),
            isAdmin: flags & admin != 0)
    }

    /// Returns a checksum that depends on each bit of the bytes and of the number.
    ///
    /// Every step is reversible, so that a single changed word is always detected. The checksum does not protect against deliberate
    /// changes.
    private static func seal(_ bytes: UnsafeRawBufferPointer, seq: Int64) -> UInt64 {
        var sum = UInt64(bitPattern: seq) ^ UInt64(bytes.count) << 40
        func mix(_ word: UInt64) {
            sum = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
            sum ^= sum >> 32
        }
        let whole = bytes.count & ~7
        for place in stride(from: 0, to: whole, by: 8) {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
        }
        mix(bytes[whole...].reversed().reduce(0) { $0 << 8 | UInt64($1) })
        return sum
    }

    /// Returns the time at which an entry was stored, in milliseconds since 1970 UTC; nil if the bytes are invalid.
    package static func time(of bytes: UnsafeRawBufferPointer) -> Int64? {
        var rest = Rest(bytes)
        guard rest.byte() != nil, let at = rest.fixed() else { return nil }
        return Int64(bitPattern: at)
    }

    /// The number of bytes that ``head(of:)`` needs.
    package static let headLength = 1 + 8 + 16 + 16

    /// Decodes the beginning of an entry; returns nil if the bytes are invalid.
    ///
    /// The checksum cannot be verified without the rest.
    package static func head(of bytes: UnsafeRawBufferPointer) -> (at: Int64, id: MessageID, device: DeviceID)? {
        var rest = Rest(bytes)
        guard let flags = rest.byte(), flags < 16, let at = rest.fixed(), let id = rest.bits(), let device = rest.bits() else { return nil }
        return (Int64(bitPattern: at), MessageID(id), DeviceID(device))
    }

    /// Returns the 16 bytes of an identity, most significant byte first.
    package static func bytes(of bits: Bits128) -> [UInt8] {
        [bits.high, bits.low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
    }

    /// Returns the identity of 16 bytes.
    package static func bits(_ bytes: UnsafeRawBufferPointer) -> Bits128? {
        guard bytes.count == 16 else { return nil }
        return Bits128(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    private static func fixed(_ number: UInt64, into bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func varint(_ number: UInt64, into bytes: inout [UInt8]) {
        var number = number
        while number >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: number) | 0x80)
            number >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: number))
    }

    private static func text(_ text: String, into bytes: inout [UInt8]) {
        varint(UInt64(text.utf8.count), into: &bytes)
        bytes.append(contentsOf: text.utf8)
    }

    /// The bytes that were not read yet.
    private struct Rest {
        private let bytes: UnsafeRawBufferPointer
        private var place = 0

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        mutating func byte() -> UInt8? {
            guard place < bytes.count else { return nil }
            defer { place += 1 }
            return bytes[place]
        }

        mutating func fixed() -> UInt64? {
            guard bytes.count - place >= 8 else { return nil }
            defer { place += 8 }
            return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }

        mutating func bits() -> Bits128? {
            guard let high = fixed(), let low = fixed() else { return nil }
            return Bits128(high: high, low: low)
        }

        mutating func varint() -> UInt64? {
            var number: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 64, by: 7) {
                guard let byte = byte() else { return nil }
                number |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return number }
            }
            return nil
        }

        mutating func text() -> String? {
            guard let length = varint(), length <= bytes.count - place else { return nil }
            defer { place += Int(length) }
            return String(utf8: UnsafeRawBufferPointer(rebasing: bytes[place..<place + Int(length)]))
        }

        mutating func remainder() -> [UInt8] { [UInt8](bytes[place...]) }
    }
}
