import WebSocketCore

extension Message {
    var opcode: Opcode { if case .text = self { .text } else { .binary } }

    /// Calls `body` with the payload.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch self {
        case .text(var text): text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        case .binary(let bytes): bytes.withUnsafeBytes(body)
        }
    }
}
