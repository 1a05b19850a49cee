import CodecCore
import DocumentCore

/// A document with the four roots of the vectors, and the operations that `Interop/documents/ops.cjs` describes.
struct Script {
    var document: SharedDocument
    let roots: [String: SharedType]

    init(client: UInt64, keepsDeleted: Bool = false) {
        document = SharedDocument(client: client, keepsDeleted: keepsDeleted)
        var roots: [String: SharedType] = [:]
        for (name, kind) in [("text", SharedTypeKind.text), ("array", .array), ("map", .map), ("xml", .xmlFragment)] {
            roots[name] = document.root(name, kind)
        }
        self.roots = roots
    }

    struct NoSuchPath: Error { let path: Value }

    func type(_ path: Value) throws -> SharedType {
        var steps = (path.items ?? [])[...]
        guard let root = steps.popFirst()?.string, var type = roots[root] else { throw NoSuchPath(path: path) }
        for step in steps {
            let node = step.string.map { document.node($0, in: type) } ?? step.int.map { document.nodes(type)[$0] }
            guard case .type(let next)? = node else { throw NoSuchPath(path: path) }
            type = next
        }
        return type
    }

    static func entries(_ value: Value?) -> [DocumentValue.Entry] {
        guard let value, case .object(let entries) = DocumentValue(vector: value) else { return [] }
        return entries
    }

    static func node(_ value: Value) -> NewNode {
        guard let key = value.entries?.entries.first?.key.string else { return .value(DocumentValue(vector: value)) }
        switch key {
        case "$map": return .type(.map)
        case "$array": return .type(.array)
        case "$text": return .type(.text)
        case "$xmltext": return .type(.xmlText)
        case "$xml": return .type(.xmlElement, name: value.string(key))
        case "$hook": return .type(.xmlHook, name: value.string(key))
        case "$doc": return .document(id: value.string(key))
        default: return .value(DocumentValue(vector: value))
        }
    }

    mutating func run(_ op: Value) throws {
        let name = op.string("op")
        if name == "all" { return try op.objects("ops").forEach { try run($0) } }
        let type = try type(op["path"] ?? .null), at = op.number("at"), end = at + op.number("length")
        switch name {
        case "insert": try document.insert(op.objects("values").map { Self.node($0) }, at: at, in: type)
        case "type": try document.insert(op.string("text"), at: at, in: type, marks: op["attrs"].map { Self.entries($0) })
        case "embed":
            try document.insert(embed: DocumentValue(vector: op["value"] ?? .null), at: at, in: type, marks: Self.entries(op["attrs"]))
        case "format": try document.format(at..<end, in: type, marks: Self.entries(op["attrs"]))
        // Yjs deletes up to the end where a range goes beyond it.
        case "delete": try document.delete(at..<min(end, document.count(type)), in: type)
        case "delta":
            try document.apply(
                op.objects("delta").map { step in
                    let marks = Self.entries(step["attributes"])
                    if let count = step["retain"]?.int { return .retain(count, marks: marks) }
                    if let count = step["delete"]?.int { return .delete(count) }
                    return .insert(step.string("insert"), marks: marks)
                }, to: type)
        case "set": try document.set(op.string("key"), to: Self.node(op["value"] ?? .null), in: type)
        case "unset": try document.remove(op.string("key"), in: type)
        default: throw NoSuchPath(path: op)
        }
    }

    // MARK: - What the document holds, as the vectors have it

    var dump: Value {
        map([
            ("text", runs(roots["text"])), ("array", .array(nodes(roots["array"]))), ("map", entries(roots["map"])),
            ("xml", .array(nodes(roots["xml"]))),
        ])
    }

    private func map(_ entries: [(String, Value)]) -> Value {
        .map(ValueMap(entries.map { .init(key: .text($0.0), value: $0.1) }))
    }

    private func runs(_ type: SharedType?) -> Value {
        guard let type else { return .null }
        return .array(
            document.runs(type).map { run in
                let content: Value =
                    switch run.content {
                    case .text(let text): .text(text)
                    case .embed(let value): value.vector
                    case .type(let type): dump(type)
                    }
                let marks = run.marks.sorted { $0.key < $1.key }.map { ($0.key, $0.value.vector) }
                return map([("insert", content)] + (marks.isEmpty ? [] : [("attributes", map(marks))]))
            })
    }

    private func nodes(_ type: SharedType?) -> [Value] { type.map { document.nodes($0).map { dump($0) } } ?? [] }

    private func entries(_ type: SharedType?) -> Value {
        guard let type else { return .null }
        return map(document.keys(type).sorted().map { ($0, document.node($0, in: type).map { dump($0) } ?? .null) })
    }

    private func dump(_ node: DocumentNode) -> Value {
        switch node {
        case .value(let value): value.vector
        case .type(let type): dump(type)
        case .document(let id, _): map([("$doc", .text(id))])
        }
    }

    private func dump(_ type: SharedType) -> Value {
        switch document.kind(of: type) {
        case .xmlElement:
            map([("$xml", .text(document.name(of: type) ?? "")), ("attrs", entries(type)), ("children", .array(nodes(type)))])
        case .xmlText: map([("$xmltext", runs(type)), ("attrs", entries(type))])
        case .xmlHook: map([("$hook", .text(document.name(of: type) ?? "")), ("map", entries(type))])
        case .text: map([("$text", runs(type))])
        case .map: map([("$map", entries(type))])
        default: map([("$array", .array(nodes(type)))])
        }
    }
}

extension Value {
    /// The value with the keys of all objects sorted, so that two dumps can be compared.
    var sorted: Value {
        switch self {
        case .array(let items): .array(items.map(\.sorted))
        case .map(let map):
            .map(
                ValueMap(
                    map.entries.map { .init(key: $0.key, value: $0.value.sorted) }.sorted { $0.key.string ?? "" < $1.key.string ?? "" }))
        case .float(let number): Int64(exactly: number).map { .integer($0) } ?? self
        default: self
        }
    }
}

extension Value {
    /// The value of a dump with each shared type replaced by what it holds.
    var plainTypes: Value {
        switch self {
        case .array(let items): .array(items.map(\.plainTypes))
        case .map(let map):
            (self["$array"] ?? self["$map"] ?? self["$text"])?.plainTypes
                ?? .map(ValueMap(map.entries.map { .init(key: $0.key, value: $0.value.plainTypes) }))
        default: self
        }
    }
}
