/// One whole application message.
public enum Message: Hashable, Sendable {
    /// UTF-8 text.
    case text(String)
    /// Bytes.
    case binary([UInt8])

    /// The length of the payload in bytes; of text, in UTF-8.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }

    /// A message with a payload that was checked when it came; `isASCII` is only asked of text.
    package init(_ kind: MessageKind, checked bytes: UnsafeRawBufferPointer, isASCII: Bool) {
        // Copying a sequence is what the standard library does fastest.
        self = unsafe kind == .binary ? .binary([UInt8](bytes)) : .text(String(validated: bytes, isASCII: isASCII))
    }
}
