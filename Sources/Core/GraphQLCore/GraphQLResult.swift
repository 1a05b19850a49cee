package import CodecCore

/// A result of an operation: the payload of a `next` message.
package struct GraphQLResult: Hashable, Sendable {
    /// The data, as JSON; nil if it is absent or null.
    package var data: [UInt8]?
    private var extras: Extras?

    /// What most results do not have.
    ///
    /// It has an allocation of its own, because a result is copied several times on its way to the app.
    private indirect enum Extras: Hashable {
        case some(Parts)
    }
    private struct Parts: Hashable {
        var errors: [GraphQLError] = []
        var extensions: ValueMap = [:]
        var hasNext: Bool?
        var patches: [Patch] = []
        var pending: [String: [GraphQLError.PathStep]] = [:]
    }
    private var parts: Parts {
        get { if case .some(let parts)? = extras { parts } else { Parts() } }
        set { extras = newValue == Parts() ? nil : .some(newValue) }
    }

    /// The errors of fields, or of the whole operation.
    package var errors: [GraphQLError] {
        get { parts.errors }
        set { parts.errors = newValue }
    }
    /// More of the server about the result.
    package var extensions: ValueMap {
        get { parts.extensions }
        set { parts.extensions = newValue }
    }
    /// Whether parts of the result follow, for `@defer` and `@stream`; nil if the server does not say.
    package var hasNext: Bool? {
        get { parts.hasNext }
        set { parts.hasNext = newValue }
    }
    /// The parts that a later message brings.
    package var patches: [Patch] {
        get { parts.patches }
        set { parts.patches = newValue }
    }
    /// The paths of the parts that are announced, by their ids.
    package var pending: [String: [GraphQLError.PathStep]] {
        get { parts.pending }
        set { parts.pending = newValue }
    }

    /// A part of a result that comes later.
    package struct Patch: Hashable, Sendable {
        /// The path from the root, or from the announced part.
        package var path: [GraphQLError.PathStep]
        /// The id of the announced part; nil if `path` begins at the root.
        package var id: String?
        /// The fields that are added to the object at the path.
        package var data: Value?
        /// The items that are added to the list at the path.
        package var items: [Value]?
    }

    package init(data: [UInt8]? = nil, errors: [GraphQLError] = []) {
        self.data = data
        if !errors.isEmpty { self.errors = errors }
    }

    /// Reads the payload at the reader's position.
    init(_ reader: inout ByteReader) throws(CodecError) {
        var result = GraphQLResult()
        try reader.eachField { name, reader throws(CodecError) in
            switch name {
            case "data":
                reader.skipSpace()
                guard reader.peek() != UInt8(ascii: "n") else { return try reader.checkJSON(levels: 0) }
                let range = try reader.jsonRange()
                result.data = unsafe [UInt8](reader.bytes(from: range.lowerBound, to: range.upperBound))
            case "errors": result.errors += GraphQLError.all(in: try reader.jsonValue(levels: GraphQLCoding.maximumDepth))
            case "extensions": result.extensions = try reader.jsonValue(levels: GraphQLCoding.maximumDepth).entries ?? [:]
            case "hasNext": result.hasNext = try reader.jsonValue(levels: 0).bool
            case "incremental": result.add(incremental: try reader.jsonValue(levels: GraphQLCoding.maximumDepth))
            case "pending": result.add(pending: try reader.jsonValue(levels: GraphQLCoding.maximumDepth))
            case "completed":
                for part in try reader.jsonValue(levels: GraphQLCoding.maximumDepth).items ?? [] {
                    result.errors += GraphQLError.all(in: part["errors"] ?? .null)
                }
            default: try reader.checkJSON(levels: GraphQLCoding.maximumDepth)
            }
        }
        self = result
    }

    private mutating func add(incremental value: Value) {
        for part in value.items ?? [] {
            let id = part["id"]?.string
            let path = GraphQLError.path(part[id == nil ? "path" : "subPath"])
            errors += GraphQLError.all(in: part["errors"] ?? .null)
            patches.append(Patch(path: path, id: id, data: part["data"], items: part["items"]?.items))
        }
    }

    private mutating func add(pending value: Value) {
        for part in value.items ?? [] { if let id = part["id"]?.string { pending[id] = GraphQLError.path(part["path"]) } }
    }
}

/// The data of a result whose parts come one after the other, for `@defer` and `@stream`.
///
/// Knows the format of the GraphQL working draft of 2023 (`pending`, `id`, `subPath`) and the one before (`path`), which servers send.
package struct IncrementalData: Hashable, Sendable {
    /// Why the parts do not fit together.
    package struct Misfit: Error, Hashable {}
    private var data: Value
    private var pending: [String: [GraphQLError.PathStep]]

    /// Begins with the first result.
    package init(_ result: GraphQLResult) throws {
        data = try result.data.map { unsafe try $0.withUnsafeBytes { unsafe try Value(json: $0.bytes) } } ?? .null
        pending = result.pending
        for patch in result.patches { try apply(patch) }
    }

    /// Adds the parts of a later result.
    package mutating func add(_ result: GraphQLResult) throws {
        pending.merge(result.pending) { $1 }
        for patch in result.patches { try apply(patch) }
    }

    /// All data so far, as JSON.
    package func json() throws(CodecError) -> [UInt8] { try data.json() }

    private mutating func apply(_ patch: GraphQLResult.Patch) throws {
        var path = patch.path
        if let id = patch.id {
            guard let start = pending[id] else { throw Misfit() }
            path = start + path
        }
        if let items = patch.items {
            // In the older format, the path ends with the index of the first item.
            if case .index? = path.last, patch.id == nil { path.removeLast() }
            try data.change(at: path[...]) { list throws(Misfit) in
                guard let old = list.items else { throw Misfit() }
                list = .array(old + items)
            }
        } else if let fields = patch.data?.entries {
            try data.change(at: path[...]) { object throws(Misfit) in
                guard var map = object.entries else { throw Misfit() }
                map.merge(fields)
                object = .map(map)
            }
        }
    }
}

extension Value {
    /// Changes the value at a path.
    fileprivate mutating func change(
        at path: ArraySlice<GraphQLError.PathStep>, _ body: (inout Value) throws(IncrementalData.Misfit) -> Void
    ) throws(IncrementalData.Misfit) {
        switch (path.first, self) {
        case (nil, _): try body(&self)
        case (.field(let name)?, .map(var map)):
            guard let place = map.entries.firstIndex(where: { $0.key == .text(name) }) else { throw IncrementalData.Misfit() }
            self = .null
            defer { self = .map(map) }
            try map.entries[place].value.change(at: path.dropFirst(), body)
        case (.index(let index)?, .array(var items)):
            guard items.indices.contains(index) else { throw IncrementalData.Misfit() }
            self = .null
            defer { self = .array(items) }
            try items[index].change(at: path.dropFirst(), body)
        default: throw IncrementalData.Misfit()
        }
    }
}

extension ValueMap {
    /// Adds fields; objects that both have are merged, other values are replaced.
    fileprivate mutating func merge(_ fields: ValueMap) {
        for field in fields {
            guard let place = entries.firstIndex(where: { $0.key == field.key }) else {
                entries.append(field)
                continue
            }
            if case .map(var old) = entries[place].value, case .map(let new) = field.value {
                old.merge(new)
                entries[place].value = .map(old)
            } else {
                entries[place].value = field.value
            }
        }
    }
}
