public import ArgumentParser
import CodecCore
import HoldfastTerminal
import MachineCore
public import WAMPCore

/// The URI of a topic or a procedure on the command line.
enum URIArgument {
    /// Throws an error for a URI that is not valid.
    static func check(_ uri: String, match: WAMPMatch = .exact) throws {
        guard WAMPURI.isValid(uri, match) else {
            throw ValidationError(
                "\"\(uri.escapedOnOneLine)\" is not a WAMP URI: use components that are joined by dots, without spaces and #"
                    + (match == .exact ? ", none of them empty." : "."))
        }
    }
}

/// A value on the command line: JSON, or plain text if it is not JSON.
///
/// So `7`, `true`, `[1,2]` and `{"a":1}` are JSON values, `hello` is a text, and `"7"` with its quotes is also a text.
struct JSONArgument: Hashable, Sendable, ExpressibleByArgument {
    let value: Value

    init(argument: String) { value = Value(jsonText: argument) ?? .text(argument) }
}

/// A named value on the command line: `name=value`, with the value parsed as ``JSONArgument``.
struct KeywordArgument: Hashable, Sendable, ExpressibleByArgument {
    let name: String
    let value: Value

    /// Parses a name and its value; returns nil without an `=`, or without a name before it.
    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else { return nil }
        name = String(argument[..<equals])
        value = JSONArgument(argument: String(argument[argument.index(after: equals)...])).value
    }
}

/// JSON as WAMP uses it: bytes are Base64 texts after a character with code 0.
///
/// See WAMP, "Binary support in JSON".
extension Value {
    /// Parses a text; nil if it is not JSON.
    init?(jsonText text: String) {
        let value = Array(text.utf8).withUnsafeBytes { bytes in try? Value(json: bytes.bytes) }
        guard let value else { return nil }
        self = value.withBytesRestored
    }

    /// The value on one line, with control characters escaped; a value that JSON cannot represent becomes a text that describes it.
    var jsonLine: String {
        let bytes = (try? withTextsOfBytes.json()) ?? Array(description.inJSON.utf8)
        return String(decoding: bytes, as: UTF8.self).escapedWithinJSON
    }

    private var withTextsOfBytes: Value {
        switch self {
        case .bytes(let bytes): .text("\0" + Base64.text(bytes))
        case .array(let items): .array(items.map(\.withTextsOfBytes))
        case .map(let map): .map(ValueMap(map.entries.map { .init(key: $0.key, value: $0.value.withTextsOfBytes) }))
        case .tagged(let tag, let value): .tagged(tag, value.withTextsOfBytes)
        default: self
        }
    }
}

/// On the command line, a match policy has its name in WAMP options: `exact`, `prefix`, `wildcard`.
extension WAMPMatch: ExpressibleByArgument {}

/// On the command line, a serialization has the last part of its subprotocol's name: `json`, `msgpack`, `cbor`.
extension WAMPSerialization: ExpressibleByArgument {
    /// Parses a name; nil if it is unknown.
    public init?(argument: String) { self.init(subprotocol: "wamp.2." + argument) }

    /// All names.
    public static var allValueStrings: [String] { allCases.map { String($0.subprotocol.dropFirst("wamp.2.".count)) } }
}

/// On the command line, the modes have their names in WAMP messages: `skip`, `kill`, `killnowait`.
extension CallOptions.CancelMode: ExpressibleByArgument {}

/// On the command line, the policies have their names in WAMP messages: `single`, `roundrobin`, …
extension RegisterOptions.Sharing: ExpressibleByArgument {}
