/// What has come of the message that is being read in pieces.
struct PartialMessage {
    private(set) var isOpen = false
    private(set) var kind = MessageKind.binary
    private(set) var isCompressed = false
    /// Frames so far, the current one included.
    var frames = 0
    /// Bytes so far, inflated, those already handed over in chunks included.
    private(set) var byteCount = 0
    /// The bytes that are not handed over yet.
    var bytes: [UInt8] = []
    private(set) var validator = UTF8Validator()

    mutating func open(_ kind: MessageKind, isCompressed: Bool) {
        (isOpen, self.kind, self.isCompressed) = (true, kind, isCompressed)
    }

    /// Counts the bytes from `start` on, and checks them if they are text.
    mutating func admitBytes(from start: Int) throws(ProtocolViolation) {
        byteCount += bytes.count - start
        guard kind == .text else { return }
        let isValid = unsafe bytes.withUnsafeBytes { unsafe validator.validate(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard isValid else { throw .invalidText }
    }

    mutating func takeBytes() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// The whole message; the next one may begin.
    mutating func takeWhole() -> Message {
        defer { close() }
        guard kind == .text else { return .binary(takeBytes()) }
        return .text(unsafe bytes.withUnsafeBytes { unsafe String(validated: $0, isASCII: validator.isASCII) })
    }

    mutating func close() { self = PartialMessage() }
}
