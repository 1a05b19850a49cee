public import CodecCore
import HoldfastCodecs
public import WAMPCore

/// Events of several types on one topic, told apart by a number or a name that they carry.
///
/// That is looked at first, and only then what it says is decoded as its type; nothing else is.
///
/// ```swift
/// enum Ride { case moved(Position), ended(Receipt) }
/// let types = EventTypes<Ride>(at: .place(0))
///     .with(50, as: Position.self, in: .place(1)) { .moved($0) }
///     .with(51, as: Receipt.self, in: .list) { .ended($0) }
/// let rides = Topic<Ride>("com.app.rides", form: types.form)
/// ```
public struct EventTypes<Content>: Sendable {
    /// Where something stands in an event.
    public struct Place: Hashable, Sendable {
        enum Kind: Hashable, Sendable { case path([Int]), key(String), keyword(String), list, keywords }
        let kind: Kind

        /// The argument at a place, counted from 0.
        public static func place(_ index: Int) -> Place { Place(kind: .path([index])) }
        /// What stands at a place, counted from 0, in the first argument, which is an array.
        public static func item(_ index: Int) -> Place { Place(kind: .path([0, index])) }
        /// What stands under a key in the first argument.
        public static func key(_ key: String) -> Place { Place(kind: .key(key)) }
        /// A keyword argument.
        public static func keyword(_ name: String) -> Place { Place(kind: .keyword(name)) }
        /// All arguments, as an array.
        public static var list: Place { Place(kind: .list) }
        /// All keyword arguments, as an object.
        public static var keywords: Place { Place(kind: .keywords) }

        /// Where the rest of an event stands whose mark is here.
        var surroundings: Place {
            switch kind {
            case .key: .place(0)
            case .keyword, .keywords: .keywords
            case .path, .list: .list
            }
        }

        func decode<Body: Decodable>(_ type: Body.Type, from arguments: WAMPArguments) throws -> Body {
            switch kind {
            case .list: try ArgumentsCoding.value(type, ofListIn: arguments)
            case .keywords: try ArgumentsCoding.value(type, ofKeywordsIn: arguments)
            case .path(let path): try ArgumentsCoding.value(type, at: path, in: arguments)
            case .key, .keyword: try ArgumentsCoding.value(type, of: value(in: arguments))
            }
        }

        func value(in arguments: WAMPArguments) throws -> Value {
            switch kind {
            case .path(let path): try arguments.value(at: path) ?? .null
            case .key(let key): try arguments.value(at: [0])?[key] ?? .null
            case .keyword(let name): try arguments.keywords[.text(name)] ?? .null
            case .list: try .array(arguments.list)
            case .keywords: try .map(arguments.keywords)
            }
        }
    }

    private let mark: Place
    private var types: [Value: @Sendable (WAMPArguments) throws -> Content] = [:]
    private var otherwise: (@Sendable (Value, WAMPArguments) throws -> Content)?

    /// No type yet.
    ///
    /// - Parameter mark: Where the number or the name stands that tells the types apart.
    public init(at mark: Place) { self.mark = mark }

    /// The same with one more type.
    ///
    /// - Parameters:
    ///   - name: The number or the name of the type; a whole number is the same however it is written, as 50, 50.0 or unsigned.
    ///   - type: What such an event is decoded as.
    ///   - body: Where that stands; nil: where the mark stands. If that is under a key, this is the first argument with all its keys; if
    ///     it is a keyword argument, all of them; otherwise all arguments together.
    ///   - wrap: Makes the event of it.
    public func with<Body: Decodable>(
        _ name: Value, as type: Body.Type, in body: Place? = nil, _ wrap: @escaping @Sendable (Body) -> Content
    ) -> EventTypes where Body: Sendable {
        let body = body ?? mark.surroundings
        var copy = self
        copy.types[name.asMark] = { wrap(try body.decode(Body.self, from: $0)) }
        return copy
    }

    /// The same with one more type, whose number may be a constant of the app's, such as a raw value; see ``with(_:as:in:_:)-(Value,_,_,_)``.
    public func with<Body: Decodable>(
        _ number: some BinaryInteger, as type: Body.Type, in body: Place? = nil, _ wrap: @escaping @Sendable (Body) -> Content
    ) -> EventTypes where Body: Sendable {
        with(Int64(exactly: number).map { .integer($0) } ?? Value(UInt64(clamping: number)), as: type, in: body, wrap)
    }

    /// The same with one more type, whose name may be a constant of the app's, such as a raw value; see ``with(_:as:in:_:)-(Value,_,_,_)``.
    public func with<Body: Decodable>(
        _ name: some StringProtocol, as type: Body.Type, in body: Place? = nil, _ wrap: @escaping @Sendable (Body) -> Content
    ) -> EventTypes where Body: Sendable {
        with(Value.text(String(name)), as: type, in: body, wrap)
    }

    /// The same, with what becomes of events of other types; without it they are undecodable.
    public func otherwise(_ make: @escaping @Sendable (_ name: Value, WAMPArguments) throws -> Content) -> EventTypes {
        var copy = self
        copy.otherwise = make
        return copy
    }

    /// The form for a ``Topic``, to subscribe to.
    public var form: WAMPForm<Content> {
        WAMPForm<Content> { _, _ in
            throw WAMPError(.unencodable, detail: "events that are told apart by a type can only be received")
        } decode: { arguments in
            let name = try mark.value(in: arguments)
            if let type = types[name.asMark] { return try type(arguments) }
            guard let otherwise else { throw WAMPError(.undecodable, detail: "no type is registered for \(Self.shown(name))") }
            return try otherwise(name, arguments)
        }
    }

    /// A number or a name in words; anything else is no mark, and may be long.
    private static func shown(_ name: Value) -> String {
        switch name {
        case .integer(let number): "\(number)"
        case .text(let text) where text.utf8.count <= 64: text.debugDescription
        default: "what it carries"
        }
    }
}

extension Value {
    /// The same number in one way of several to write it; anything else as it is.
    fileprivate var asMark: Value {
        switch self {
        case .unsigned(let number): Value(number)
        case .float(let number): Int64(exactly: number).map { .integer($0) } ?? self
        default: self
        }
    }
}
