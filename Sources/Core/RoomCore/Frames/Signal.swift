/// Something that nobody stores: a cursor, a reaction in flight.
public struct Signal: Hashable, Sendable {
    /// How to read its payload, 1 to 64 bytes.
    public var type: String
    /// What it says, at most 4 KiB.
    public var payload: Payload

    /// A signal.
    public init(type: String, payload: Payload) { (self.type, self.payload) = (type, payload) }
}
