/// Compresses the messages of one direction of one connection, in order (RFC 7692 §7.2.1).
public protocol MessageDeflater: AnyObject {
    /// Compresses a piece of one message and appends what comes out to `output`.
    ///
    /// With `isLast` it flushes, removes the tail `00 00 FF FF` and forgets the context when takeover is off.
    func deflate(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8])
}
