package import NIOCore
package import WebSocketCore

/// A message for many sockets: its frame is made once, and those that neither mask nor compress write the same bytes.
///
/// One for each event loop is best: threads that count the references of one buffer wait for each other.
package struct SharedMessage: Sendable {
    package let kind: MessageKind
    /// A whole frame, neither masked nor compressed.
    let frame: ByteBuffer
    /// How many bytes the message has without its header.
    package let byteCount: Int

    /// A message; a text must be UTF-8.
    package init(_ kind: MessageKind, _ payload: [UInt8]) {
        let header = FrameHeader(kind == .text ? .text : .binary, payloadLength: payload.count)
        var frame = ByteBufferAllocator().buffer(capacity: FrameHeader.maximumLength + payload.count)
        frame.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.maximumLength) { bytes in
            bytes.baseAddress.map { header.write(at: $0) } ?? 0
        }
        frame.writeBytes(payload)
        (self.kind, self.frame, byteCount) = (kind, frame, payload.count)
    }

    /// What it says.
    package var payload: ByteBufferView { frame.viewBytes(at: frame.writerIndex - byteCount, length: byteCount) ?? ByteBufferView() }
}
