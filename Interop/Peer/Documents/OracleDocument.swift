import CodecCore
import DocumentCore
import MachineCore

/// A document of ours with the roots and the operations of `Interop/documents/ops.cjs`.
struct OracleDocument {
    var document: SharedDocument
    private let roots: [String: SharedType]
    /// Steps are ended by the operation `cut` only, as in the documents of Yjs.
    private var undo: DocumentUndo?

    init(client: UInt64, keepsDeleted: Bool = false, undo hasUndo: Bool = false) {
        document = SharedDocument(client: client, keepsDeleted: keepsDeleted)
        var roots: [String: SharedType] = [:]
        for (name, kind) in [("text", SharedTypeKind.text), ("array", .array), ("map", .map), ("xml", .xmlFragment)] {
            roots[name] = document.root(name, kind)
        }
        self.roots = roots
        if hasUndo { undo = DocumentUndo(of: Array(roots.values), groupingTime: .seconds(1_000_000)) }
    }

    // MARK: - Operations

    /// Carries out an operation as a transaction, and returns its update in both versions.
    mutating func edit(_ operation: Value) throws -> OracleUpdate? {
        // A document is a value: a copy of it writes the other version.
        var other = self
        guard let first = try edit(operation, .v1) else { return nil }
        return OracleUpdate(v1: first, v2: try other.edit(operation, .v2) ?? [])
    }

    private mutating func edit(_ operation: Value, _ version: UpdateVersion) throws -> [UInt8]? {
        switch operation["op"]?.string {
        case "undo": return undo?.undo(&document, version)
        case "redo": return undo?.redo(&document, version)
        case "cut":
            undo?.endStep()
            return nil
        default:
            try run(operation)
            guard var undo else { return document.commit(version) }
            defer { self.undo = undo }
            return document.commit(version, noting: &undo, at: .start)
        }
    }

    /// Carries out an operation, and leaves the transaction open.
    mutating func run(_ operation: Value) throws {
        let name = operation["op"]?.string
        if name == "all" { return try (operation["ops"]?.items ?? []).forEach { try run($0) } }
        let type = try type(operation["path"]), at = operation["at"]?.int ?? 0, end = at + (operation["length"]?.int ?? 0)
        let key = operation["key"]?.string ?? ""
        switch name {
        case "insert": try document.insert((operation["values"]?.items ?? []).map { Self.node($0) }, at: at, in: type)
        case "type":
            let marks = operation["attrs"].map { Self.entries($0) }
            try document.insert(operation["text"]?.string ?? "", at: at, in: type, marks: marks)
        case "embed":
            let value = DocumentValue(oracle: operation["value"] ?? .null)
            try document.insert(embed: value, at: at, in: type, marks: Self.entries(operation["attrs"]))
        case "format": try document.format(at..<end, in: type, marks: Self.entries(operation["attrs"]))
        case "delete": try document.delete(at..<end, in: type)
        case "delta": try document.apply((operation["delta"]?.items ?? []).map { Self.step($0) }, to: type)
        case "set": try document.set(key, to: Self.node(operation["value"] ?? .null), in: type)
        case "unset": try document.remove(key, in: type)
        default: throw OracleDifference("no such operation: \(operation)")
        }
    }

    /// The shared type at a path of a root's name and then keys and indices.
    func type(_ path: Value?) throws -> SharedType {
        var steps = (path?.items ?? [])[...]
        guard let root = steps.popFirst()?.string, var type = roots[root] else { throw OracleDifference("no such path: \(path ?? .null)") }
        for step in steps {
            let nodes = document.nodes(type)
            let node = step.string.map { document.node($0, in: type) } ?? step.int.flatMap { nodes.indices.contains($0) ? nodes[$0] : nil }
            guard case .type(let next)? = node else { throw OracleDifference("no such path: \(path ?? .null)") }
            type = next
        }
        return type
    }

    private static func entries(_ value: Value?) -> [DocumentValue.Entry] {
        guard let value, case .object(let entries) = DocumentValue(oracle: value) else { return [] }
        return entries
    }

    private static func node(_ value: Value) -> NewNode {
        guard let entry = value.entries?.entries.first else { return .value(DocumentValue(oracle: value)) }
        let name = entry.value.string ?? ""
        switch entry.key.string {
        case "$map": return .type(.map)
        case "$array": return .type(.array)
        case "$text": return .type(.text)
        case "$xmltext": return .type(.xmlText)
        case "$xml": return .type(.xmlElement, name: name)
        case "$hook": return .type(.xmlHook, name: name)
        case "$doc": return .document(id: name)
        default: return .value(DocumentValue(oracle: value))
        }
    }

    private static func step(_ step: Value) -> SharedDocument.TextStep {
        let marks = entries(step["attributes"])
        if let count = step["retain"]?.int { return .retain(count, marks: marks) }
        if let count = step["delete"]?.int { return .delete(count) }
        if let text = step["insert"]?.string { return .insert(text, marks: marks) }
        return .embed(DocumentValue(oracle: step["insert"] ?? .null), marks: marks)
    }

    // MARK: - What the document holds, in the form of ops.cjs

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
                    case .embed(let value): value.oracle
                    case .type(let type): dump(type)
                    }
                let marks = run.marks.map { ($0.key, $0.value.oracle) }
                return map([("insert", content)] + (marks.isEmpty ? [] : [("attributes", map(marks))]))
            })
    }

    private func nodes(_ type: SharedType?) -> [Value] { type.map { document.nodes($0).map { dump($0) } } ?? [] }

    private func entries(_ type: SharedType?) -> Value {
        guard let type else { return .null }
        return map(document.keys(type).map { ($0, document.node($0, in: type).map { dump($0) } ?? .null) })
    }

    private func dump(_ node: DocumentNode) -> Value {
        switch node {
        case .value(let value): value.oracle
        case .type(let type): dump(type)
        case .document(let id, _): map([("$doc", .text(id))])
        }
    }

    private func dump(_ type: SharedType) -> Value {
        let name = Value.text(document.name(of: type) ?? "")
        return switch document.kind(of: type) {
        case .xmlElement: map([("$xml", name), ("attrs", entries(type)), ("children", .array(nodes(type)))])
        case .xmlText: map([("$xmltext", runs(type)), ("attrs", entries(type))])
        case .xmlHook: map([("$hook", name), ("map", entries(type))])
        case .text: map([("$text", runs(type))])
        case .map: map([("$map", entries(type))])
        default: map([("$array", .array(nodes(type)))])
        }
    }
}

extension DocumentValue {
    /// Reads JSON with the objects that ops.cjs uses for what JSON has not.
    fileprivate init(oracle value: Value) {
        switch value {
        case .bool(let flag): self = .bool(flag)
        case .text(let text): self = .text(text)
        case .array(let items): self = .array(items.map { DocumentValue(oracle: $0) })
        case .map(let map):
            let text = map.entries.first?.value.string ?? ""
            switch map.entries.first?.key.string {
            case "$bytes": self = .bytes(Hexadecimal.bytes(text.utf8) ?? [])
            case "$undefined": self = .undefined
            case "$bigint": self = .bigInteger(Int64(text) ?? 0)
            case "$number": self = .number(text == "-0" ? -0.0 : Double(text) ?? .nan)
            default: self = .object(map.entries.map { Entry($0.key.string ?? "", DocumentValue(oracle: $0.value)) })
            }
        default: self = value.double.map { .number($0) } ?? .null
        }
    }

    /// Writes what the initializer reads.
    fileprivate var oracle: Value {
        func special(_ key: String, _ text: String) -> Value { .map(ValueMap([.init(key: .text(key), value: .text(text))])) }
        switch self {
        case .undefined: return .map(ValueMap([.init(key: "$undefined", value: .integer(1))]))
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .number(let number):
            if number.isNaN { return special("$number", "NaN") }
            if number.isInfinite { return special("$number", number < 0 ? "-Infinity" : "Infinity") }
            if number == 0, number.sign == .minus { return special("$number", "-0") }
            return Int64(exactly: number).map { .integer($0) } ?? .float(number)
        case .bigInteger(let number): return special("$bigint", String(number))
        case .text(let text): return .text(text)
        case .bytes(let bytes): return special("$bytes", Hexadecimal.text(bytes))
        case .array(let items): return .array(items.map(\.oracle))
        case .object(let entries): return .map(ValueMap(entries.map { .init(key: .text($0.key), value: $0.value.oracle) }))
        }
    }
}
