/// Decompresses the messages of one direction of one connection, in order (RFC 7692 §7.2.2).
public protocol MessageInflater: AnyObject {
    /// Inflates a piece of one message and appends what comes out to `output`.
    ///
    /// Throws `messageTooBig` instead of appending more than `limit` bytes in this call, and `invalidCompressedData` for a bad stream.
    func inflate(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(ProtocolViolation)

    /// Ends the message: feeds `00 00 FF FF` (RFC 7692 §7.2.2) and forgets the context when takeover is off.
    ///
    /// Throws as ``inflate(_:into:limit:)`` does.
    func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation)
}
