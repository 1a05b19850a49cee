public import ArgumentParser
import CodecCore
import MachineCore
public import WAMPCore

/// The URI of a topic or a procedure on the command line.
enum URIArgument {
    /// Says what is wrong with a URI that nobody could take.
    static func check(_ uri: String, match: WAMPMatch = .exact) throws {
        guard WAMPURI.isValid(uri, match) else {
            throw ValidationError(
                "\"\(uri.escapedOnOneLine)\" is no URI of WAMP: use components that are joined by dots, without spaces and #"
                    + (match == .exact ? ", none of them empty." : "."))
        }
    }
}

/// A value on the command line: JSON, or what is none of it as the text that it is.
///
/// So `7`, `true`, `[1,2]` and `{"a":1}` are what they look like, `hello` is a text, and `"7"` with its quotes is one, too.
struct JSONArgument: Hashable, Sendable, ExpressibleByArgument {
    let value: Value

    init(argument: String) { value = Value(jsonText: argument) ?? .text(argument) }
}

/// A value with its name on the command line: `name=value`, the value as ``JSONArgument`` reads it.
struct KeywordArgument: Hashable, Sendable, ExpressibleByArgument {
    let name: String
    let value: Value

    /// Reads a name and its value; nil without an `=`, or without a name before it.
    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else { return nil }
        name = String(argument[..<equals])
        value = JSONArgument(argument: String(argument[argument.index(after: equals)...])).value
    }
}

/// JSON as WAMP has it: bytes are texts of Base64 behind a character of code 0.
///
/// WAMP, "Binary support in JSON".
extension Value {
    /// The value that a text is, or nil if it is no JSON.
    init?(jsonText text: String) {
        let value = Array(text.utf8).withUnsafeBytes { bytes in try? Value(json: bytes.bytes) }
        guard let value else { return nil }
        self = value.withBytesRestored
    }

    /// The value on one line, with nothing in it that could drive a terminal; what JSON cannot say becomes a text about it.
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

/// On the command line a way to compare has the name that it has in options of WAMP: `exact`, `prefix`, `wildcard`.
extension WAMPMatch: ExpressibleByArgument {}

/// On the command line a serialization has the name that ends its subprotocol: `json`, `msgpack`, `cbor`.
extension WAMPSerialization: ExpressibleByArgument {
    /// Reads a name; nil if it is none.
    public init?(argument: String) { self.init(subprotocol: "wamp.2." + argument) }

    /// The names.
    public static var allValueStrings: [String] { allCases.map { String($0.subprotocol.dropFirst("wamp.2.".count)) } }
}

/// On the command line the modes have the names that they have in messages: `skip`, `kill`, `killnowait`.
extension CallOptions.CancelMode: ExpressibleByArgument {}

/// On the command line the policies have the names that they have in messages: `single`, `roundrobin`, …
extension RegisterOptions.Sharing: ExpressibleByArgument {}
