public import CodecCore
import HoldfastCodecs
public import WAMPCore

/// Events of several types on one topic, distinguished by a number or a name in each event.
///
/// The number or the name is read first. Then only the body of the event is decoded, as the matching type.
///
/// ```swift
/// enum Ride { case moved(Position), ended(Receipt) }
/// let types = EventTypes<Ride>(at: .place(0))
///     .with(50, as: Position.self, in: .place(1)) { .moved($0) }
///     .with(51, as: Receipt.self, in: .list) { .ended($0) }
/// let rides = Topic<Ride>("com.app.rides", form: types.form)
/// ```
public struct EventTypes<Content>: Sendable {
    /// A place in an event.
    public struct Place: Hashable, Sendable {
        enum Kind: Hashable, Sendable { case path([Int]), key(String), keyword(String), list, keywords }
        let kind: Kind

        /// The argument at an index, counted from 0.
        public static func place(_ index: Int) -> Place { Place(kind: .path([index])) }
        /// The item at an index, counted from 0, of the first argument, which is an array.
        public static func item(_ index: Int) -> Place { Place(kind: .path([0, index])) }
        /// The value of a key in the first argument.
        public static func key(_ key: String) -> Place { Place(kind: .key(key)) }
        /// A keyword argument.
        public static func keyword(_ name: String) -> Place { Place(kind: .keyword(name)) }
        /// All arguments, as an array.
        public static var list: Place { Place(kind: .list) }
        /// All keyword arguments, as an object.
        public static var keywords: Place { Place(kind: .keywords) }

        /// The default place of the body for an event whose mark is at this place.
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

    /// Creates a set without types.
    ///
    /// - Parameter mark: The place of the number or the name that distinguishes the types.
    public init(at mark: Place) { self.mark = mark }

    /// Returns a copy with one more type.
    ///
    /// - Parameters:
    ///   - name: The number or the name of the type; an integer matches however it is written, as 50, 50.0 or unsigned.
    ///   - type: The type of the event's body.
    ///   - body: The place of the body; nil derives it from the place of the mark. If the mark is under a key, the body is the first
    ///     argument with all its keys. If the mark is a keyword argument, the body is all keyword arguments. Otherwise the body is all
    ///     positional arguments.
    ///   - wrap: Creates the event from the body.
    public func with<Body: Decodable>(
        _ name: Value, as type: Body.Type, in body: Place? = nil, _ wrap: @escaping @Sendable (Body) -> Content
    ) -> EventTypes where Body: Sendable {
        let body = body ?? mark.surroundings
        var copy = self
        copy.types[name.asMark] = { wrap(try body.decode(Body.self, from: $0)) }
        return copy
    }

    /// Returns a copy with one more type, whose number may be an app constant such as a raw value; see ``with(_:as:in:_:)-(Value,_,_,_)``.
    public func with<Body: Decodable>(
        _ number: some BinaryInteger, as type: Body.Type, in body: Place? = nil, _ wrap: @escaping @Sendable (Body) -> Content
    ) -> EventTypes where Body: Sendable {
        with(Int64(exactly: number).map { .integer($0) } ?? Value(UInt64(clamping: number)), as: type, in: body, wrap)
    }

    /// Returns a copy with one more type, whose name may be an app constant such as a raw value; see ``with(_:as:in:_:)-(Value,_,_,_)``.
    public func with<Body: Decodable>(
        _ name: some StringProtocol, as type: Body.Type, in body: Place? = nil, _ wrap: @escaping @Sendable (Body) -> Content
    ) -> EventTypes where Body: Sendable {
        with(Value.text(String(name)), as: type, in: body, wrap)
    }

    /// Returns a copy with a handler for events of other types; without it they are undecodable.
    public func otherwise(_ make: @escaping @Sendable (_ name: Value, WAMPArguments) throws -> Content) -> EventTypes {
        var copy = self
        copy.otherwise = make
        return copy
    }

    /// The form for a ``Topic``, for subscriptions only.
    public var form: WAMPForm<Content> {
        WAMPForm<Content> { _, _ in
            throw WAMPError(.unencodable, detail: "a form of EventTypes can only decode events")
        } decode: { arguments in
            let name = try mark.value(in: arguments)
            if let type = types[name.asMark] { return try type(arguments) }
            guard let otherwise else { throw WAMPError(.undecodable, detail: "no type is registered for \(Self.shown(name))") }
            return try otherwise(name, arguments)
        }
    }

    /// A description of a number or a short name; any other value is not described, because it may be long.
    private static func shown(_ name: Value) -> String {
        switch name {
        case .integer(let number): "\(number)"
        case .text(let text) where text.utf8.count <= 64: text.debugDescription
        default: "the mark of this event"
        }
    }
}

extension Value {
    /// The same number in a canonical representation; any other value is returned unchanged.
    fileprivate var asMark: Value {
        switch self {
        case .unsigned(let number): Value(number)
        case .float(let number): Int64(exactly: number).map { .integer($0) } ?? self
        default: self
        }
    }
}
