public import CodecCore

/// Why bytes are no message of WAMP.
public struct WAMPFormatError: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Reason: Hashable, Sendable {
        /// The bytes are none of the serialization.
        case undecodable(CodecError)
        /// It is no array that begins with a number.
        case noMessage
        /// No message has this number.
        case unknownType(UInt64)
        /// A field is missing, or is of another type than the specification has: its name.
        case field(String)
        /// There are more fields than the message has.
        case tooManyFields
        /// A message of the wrong kind: text where binary was agreed on, or the reverse.
        case messageKind
    }

    /// What is wrong.
    public let reason: Reason
    /// The number of the message, if it could be read.
    public let type: UInt64?

    /// An error of a message.
    public init(_ reason: Reason, type: UInt64? = nil) { (self.reason, self.type) = (reason, type) }
}

extension WAMPFormatError: CustomStringConvertible {
    /// The message by its name, and what is wrong with it: `SUBSCRIBE: "topic" is missing or no text`.
    public var description: String {
        let words =
            switch reason {
            case .undecodable(let error): error.description
            case .noMessage: "no list that begins with the number of a message"
            case .unknownType(let number): "no message has the number \(number)"
            case .field(let name): "\"\(name)\" is missing or no \(Self.kind(of: name))"
            case .tooManyFields: "more fields than the message has"
            case .messageKind: "text where binary was agreed on, or the reverse"
            }
        guard let type, let name = WAMPMessage.name(ofType: type) else { return words }
        return "\(name): \(words)"
    }

    private static func kind(of field: String) -> String {
        switch field {
        case "details", "options", "extra", "keywords": "dictionary"
        case "arguments": "list"
        case "request", "session", "publication", "subscription", "registration": "id"
        case "request type": "number of a request"
        default: "text"
        }
    }
}
