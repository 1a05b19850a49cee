import CodecCore
import MachineCore

/// How a side speaks SCRAM: the specification says one thing, Crossbar and Autobahn do another.
public enum ScramDialect: String, Hashable, Sendable, CaseIterable {
    /// As Crossbar and Autobahn have it.
    case crossbar = "scram"
    /// As the specification has it.
    case standard = "wamp-scram"

    /// What stands for the channel binding that there is none of: nothing, or Base64 of `n,,`.
    var binding: String { self == .crossbar ? "" : "biws" }

    /// What Argon2id is called.
    var argon2: String { self == .crossbar ? "argon2id-13" : "argon2id13" }

    /// A user's name within the signed text.
    func escaped(_ name: String) -> String {
        guard self == .standard else { return name }
        return name.reduce(into: "") { $0 += $1 == "," ? "=2C" : $1 == "=" ? "=3D" : String($1) }
    }

    /// The salted password, out of what Argon2id made.
    func salted(_ hash: [UInt8]) -> [UInt8] {
        guard self == .crossbar else { return hash }
        var text = Array(Base64.text(hash).utf8)
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        return text
    }
}
