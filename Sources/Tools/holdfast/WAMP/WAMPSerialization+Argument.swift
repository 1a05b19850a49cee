public import ArgumentParser
public import WAMPCore

/// On the command line a serialization has the name that ends its subprotocol: `json`, `msgpack`, `cbor`.
extension WAMPSerialization: ExpressibleByArgument {
    /// Reads a name; nil if it is none.
    public init?(argument: String) { self.init(subprotocol: "wamp.2." + argument) }

    /// The names.
    public static var allValueStrings: [String] { allCases.map { String($0.subprotocol.dropFirst("wamp.2.".count)) } }
}
