import CodecCore
import WAMPCore

/// Whether values of a type are written and read without a coder.
func isPlain(_ type: Any.Type) -> Bool { type == Int.self || type == String.self || type == Double.self || type == Bool.self }

/// Arguments of simple types, gathered without a coder.
struct PlainArguments {
    private(set) var list: [Value] = []
    private(set) var isPlain = true

    mutating func append<Source>(_ source: Source) {
        // SAFETY: looked at before; a cast that the runtime checks costs more than all the rest.
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

/// Items of simple types, read without a coder; whatever is otherwise than expected is for the coder to judge.
struct PlainItems {
    struct NotPlain: Error {}

    /// So many bytes are read as a whole; the coder takes from more only what it is asked for.
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
