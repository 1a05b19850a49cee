/// What a connection has carried since its handshake.
public struct LinkTraffic: Hashable, Sendable {
    /// Bytes of frames that came, headers and control frames included; without what TLS and TCP add.
    ///
    /// Counted when they are parsed: what waits while the app does not keep up is not in it.
    public var bytesIn: Int
    /// Bytes of frames that were given to the socket, headers and control frames included; without what TLS and TCP add.
    public var bytesOut: Int
    /// Messages that came whole.
    public var messagesIn: Int
    /// Messages that were framed whole; one that was accepted and waits is not in it.
    public var messagesOut: Int
    /// Bytes of messages that came, after inflating.
    public var payloadIn: Int
    /// Bytes of messages that were framed, before deflating.
    public var payloadOut: Int

    /// So much of each.
    public init(
        bytesIn: Int = 0, bytesOut: Int = 0, messagesIn: Int = 0, messagesOut: Int = 0, payloadIn: Int = 0, payloadOut: Int = 0
    ) {
        (self.bytesIn, self.bytesOut, self.messagesIn) = (bytesIn, bytesOut, messagesIn)
        (self.messagesOut, self.payloadIn, self.payloadOut) = (messagesOut, payloadIn, payloadOut)
    }

    /// How many bytes of messages a byte on the wire stood for, both directions together; nil if nothing was carried.
    ///
    /// A little less than 1 without compression, for frames have headers.
    public var compressionRatio: Double? {
        bytesIn + bytesOut == 0 ? nil : Double(payloadIn + payloadOut) / Double(bytesIn + bytesOut)
    }

    /// Both together.
    public static func + (lhs: LinkTraffic, rhs: LinkTraffic) -> LinkTraffic {
        LinkTraffic(
            bytesIn: lhs.bytesIn + rhs.bytesIn, bytesOut: lhs.bytesOut + rhs.bytesOut, messagesIn: lhs.messagesIn + rhs.messagesIn,
            messagesOut: lhs.messagesOut + rhs.messagesOut, payloadIn: lhs.payloadIn + rhs.payloadIn,
            payloadOut: lhs.payloadOut + rhs.payloadOut)
    }

    /// What came after `rhs`, which is an earlier reading.
    public static func - (lhs: LinkTraffic, rhs: LinkTraffic) -> LinkTraffic {
        LinkTraffic(
            bytesIn: lhs.bytesIn - rhs.bytesIn, bytesOut: lhs.bytesOut - rhs.bytesOut, messagesIn: lhs.messagesIn - rhs.messagesIn,
            messagesOut: lhs.messagesOut - rhs.messagesOut, payloadIn: lhs.payloadIn - rhs.payloadIn,
            payloadOut: lhs.payloadOut - rhs.payloadOut)
    }

    /// Adds what was carried elsewhere.
    public static func += (lhs: inout LinkTraffic, rhs: LinkTraffic) { lhs = lhs + rhs }
}
