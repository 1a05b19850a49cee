public import CodecCore
import MachineCore

/// A client's answer to a challenge of SCRAM.
public struct ScramAnswer: Sendable {
    /// The signature of AUTHENTICATE.
    public let signature: String
    /// What else AUTHENTICATE says.
    public let extra: ValueMap
    let serverSignature: [UInt8]

    /// Whether the details of a WELCOME prove that the router has the user's keys.
    public func isGenuine(_ details: ValueMap) -> Bool {
        guard let extra = details["authextra"], let text = (extra["verifier"] ?? extra["scram_server_signature"])?.string else {
            return false
        }
        // The specification's example has the attribute's name before it, its text has not.
        guard let signature = Base64.bytes(text.hasPrefix("v=") ? String(text.dropFirst(2)) : text) else { return false }
        return KeyedHash.areEqual(signature, serverSignature)
    }
}

extension ScramAnswer: CustomStringConvertible, CustomReflectable {
    /// That it is there, not what it says.
    public var description: String { "an answer of SCRAM" }
    /// Nothing: neither `dump` nor a crash report tells signatures.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
