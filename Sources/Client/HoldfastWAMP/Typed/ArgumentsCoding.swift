import CodecCore
import HoldfastCodecs
import HoldfastProtocols
import WAMPCore

/// Converts Swift values to arguments and back; with a binary serialization directly to and from bytes.
enum ArgumentsCoding {
    /// Received arguments were checked against the client's limits on arrival.
    private static let unlimited = CodecLimits(maximumDepth: .max, maximumBytes: .max)
    /// In JSON, bytes may be plain Base64, because not all routers mark them as the specification requires.
    private static let reading: CodecOptions = {
        var options = CodecOptions(limits: unlimited)
        options.readsBase64 = true
        return options
    }()
    /// The app decides how long sent arguments are; the default depth limit stays, because endless nesting is a mistake.
    private static let writing = CodecOptions(limits: CodecLimits(maximumBytes: .max))
    private static let values = (encoder: ValueEncoder(options: writing), decoder: ValueDecoder(options: reading))
    private static let messagePack = (encoder: MessagePackEncoder(options: writing), decoder: MessagePackDecoder(options: reading))
    private static let cbor = (encoder: CBOREncoder(options: writing), decoder: CBORDecoder(options: reading))

    // MARK: - Writing

    /// Encodes a value as all positional arguments; it must encode itself as an array.
    static func list<Source: Encodable>(_ source: Source, _ serialization: WAMPSerialization?) throws -> WAMPArguments {
        switch serialization {
        case .messagePack: return try WAMPArguments(list: messagePack.encoder.encode(source), as: .messagePack, limits: unlimited)
        case .cbor: return try WAMPArguments(list: cbor.encoder.encode(source), as: .cbor, limits: unlimited)
        case .json, nil:
            guard let items = try values.encoder.encode(source).items else { throw mismatch(Source.self, "as an array") }
            return WAMPArguments(items)
        }
    }

    /// Encodes a value as all keyword arguments; it must encode itself with keys.
    static func keywords<Source: Encodable>(_ source: Source, _ serialization: WAMPSerialization?) throws -> WAMPArguments {
        switch serialization {
        case .messagePack:
            return try WAMPArguments(list: [], keywords: messagePack.encoder.encode(source), as: .messagePack, limits: unlimited)
        case .cbor: return try WAMPArguments(list: [], keywords: cbor.encoder.encode(source), as: .cbor, limits: unlimited)
        case .json, nil:
            guard let entries = try values.encoder.encode(source).entries else { throw mismatch(Source.self, "with keys") }
            return WAMPArguments(keywords: entries)
        }
    }

    private static func mismatch(_ type: Any.Type, _ form: String) -> WAMPError {
        WAMPError(.unencodable, detail: "\(type) does not encode itself \(form)")
    }

    // MARK: - Reading

    /// Decodes all positional arguments as one value, from an array.
    static func value<Target: Decodable>(_ type: Target.Type, ofListIn arguments: WAMPArguments) throws -> Target {
        let value = try arguments.withRawList { bytes, serialization in try decode(type, bytes, serialization) }
        if case .some(.some(let value)) = value { return value }
        return try values.decoder.decode(type, from: .array(arguments.list))
    }

    /// Decodes all keyword arguments as one value, by its keys.
    static func value<Target: Decodable>(_ type: Target.Type, ofKeywordsIn arguments: WAMPArguments) throws -> Target {
        let value = try arguments.withRawKeywords { bytes, serialization in try decode(type, bytes, serialization) }
        if case .some(.some(let value)) = value { return value }
        return try values.decoder.decode(type, from: .map(arguments.keywords))
    }

    /// Decodes the argument at a path, directly from its bytes if they are binary; null if there is none.
    static func value<Target: Decodable>(_ type: Target.Type, at path: [Int], in arguments: WAMPArguments) throws -> Target {
        let value = try arguments.withRawValue(at: path) { bytes, serialization in try decode(type, bytes, serialization) }
        if case .some(.some(let value)) = value { return value }
        return try self.value(type, of: arguments.value(at: path) ?? .null)
    }

    /// Decodes an untyped value.
    static func value<Target: Decodable>(_ type: Target.Type, of value: Value) throws -> Target {
        if type == Value.self, let value = value as? Target { return value }
        return try values.decoder.decode(type, from: value)
    }

    /// Decodes from bytes; returns nil for serializations that are decoded by way of a `Value`.
    private static func decode<Target: Decodable>(_ type: Target.Type, _ bytes: RawSpan, _ serialization: WAMPSerialization) throws
        -> Target?
    {
        switch serialization {
        case .messagePack: try messagePack.decoder.decode(type, from: bytes)
        case .cbor: try cbor.decoder.decode(type, from: bytes)
        case .json: nil
        }
    }
}

/// Whether values of a type are encoded and decoded without a coder.
func isPlain(_ type: Any.Type) -> Bool { type == Int.self || type == String.self || type == Double.self || type == Bool.self }

/// Collects arguments of simple types, without a coder.
struct PlainArguments {
    private(set) var list: [Value] = []
    private(set) var isPlain = true

    mutating func append<Source>(_ source: Source) {
        // SAFETY: the type was compared before; a cast that the runtime checks costs more than everything else here.
        if Source.self == Int.self { return list.append(.integer(Int64(unsafeBitCast(source, to: Int.self)))) }
        if Source.self == String.self { return list.append(.text(unsafeBitCast(source, to: String.self))) }
        switch source {
        case let number as UInt64: list.append(Value(number))
        case let number as Double: list.append(.float(number))
        case let flag as Bool: list.append(.bool(flag))
        case let value as Value: list.append(value)
        default: isPlain = false
        }
    }
}

/// Reads items of simple types, without a coder; throws `NotPlain` if anything is unexpected, and the coder then decides.
struct PlainItems {
    struct NotPlain: Error {}

    /// The maximum size that is read as a whole; from longer input the coder reads only the requested items.
    private static let mostBytes = 4096
    private let items: [Value]
    private var place = 0

    init(_ arguments: WAMPArguments) throws {
        guard arguments.withRawList({ bytes, _ in bytes.byteCount <= Self.mostBytes }) != false else { throw NotPlain() }
        items = try arguments.list
    }

    mutating func next<Target>(_ type: Target.Type) throws -> Target {
        guard place < items.count else { throw NotPlain() }
        defer { place += 1 }
        // SAFETY: as above.
        switch items[place] {
        case .integer(let number) where type == Int.self:
            if let number = Int(exactly: number) { return unsafeBitCast(number, to: type) }
        case .text(let text) where type == String.self: return unsafeBitCast(text, to: type)
        case .float(let number) where type == Double.self: return unsafeBitCast(number, to: type)
        case .bool(let flag) where type == Bool.self: return unsafeBitCast(flag, to: type)
        default: break
        }
        throw NotPlain()
    }
}
