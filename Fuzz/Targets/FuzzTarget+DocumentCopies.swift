import DocumentCore
import MachineCore

extension FuzzTarget {
    /// Edits of three copies, three bytes each, whose updates come in any order: in the end, all copies are equal.
    static func documentEdits(_ input: inout FuzzInput) throws {
        var copies: [SharedDocument] = [], undos: [DocumentUndo] = [], roots: [SharedType] = []
        for client: UInt64 in [7, 300, 5] {
            var copy = SharedDocument(client: client)
            roots = [copy.root("text", .text), copy.root("list", .array), copy.root("map", .map)]
            undos.append(DocumentUndo(of: roots, groupingTime: .zero))
            copies.append(copy)
        }
        var updates: [[UInt8]] = [], waiting: [[Int]] = [[], [], []]
        func share(_ update: [UInt8]?, of author: Int) {
            guard let update else { return }
            updates.append(update)
            for other in copies.indices where other != author { waiting[other].append(updates.count - 1) }
        }
        for _ in 0..<200 where !input.isEmpty {
            let choice = input.byte(), author = Int(choice) % 3, a = Int(input.byte()), b = Int(input.byte())
            if choice >= 0xC0 {
                // Takes one of the updates that wait, maybe once more than needed.
                guard !waiting[author].isEmpty else { continue }
                let place = a % waiting[author].count, update = updates[waiting[author][place]]
                if b % 8 > 0 { waiting[author].remove(at: place) }
                try copies[author].apply(update)
                continue
            }
            if choice >= 0xB0 {
                share(b % 2 == 0 ? undos[author].undo(&copies[author]) : undos[author].redo(&copies[author]), of: author)
                continue
            }
            try edit(&copies[author], roots, Int(choice) / 3, a, b)
            if b % 4 > 0 { share(copies[author].commit(noting: &undos[author], at: .start), of: author) }
        }
        for author in copies.indices { share(copies[author].commit(), of: author) }
        for author in copies.indices { for index in waiting[author].reversed() { try copies[author].apply(updates[index]) } }
        for copy in copies {
            try expect(!copy.isPending, "something waits for ever")
            try expectSame(copy.content, copies[0].content, "two copies differ")
            try expectEqual(copy.stateVector, copies[0].stateVector, "two copies have other blocks")
        }
        var last = SharedDocument(client: 1)
        try last.apply(DocumentUpdate.merge(updates))
        try expectSame(last.content, copies[0].content, "the merged updates give another document")
    }

    private static func edit(_ copy: inout SharedDocument, _ roots: [SharedType], _ kind: Int, _ a: Int, _ b: Int) throws {
        let text = roots[0], list = roots[1], map = roots[2], key = ["a", "b"][b % 2]
        func range(_ type: SharedType) -> Range<Int> {
            let start = a % (copy.count(type) + 1)
            return start..<min(start + b % 5, copy.count(type))
        }
        switch kind % 8 {
        case 0: try copy.insert(["x", "word", "🙂", "é🙂"][b % 4], at: a % (copy.count(text) + 1), in: text)
        case 1: try copy.delete(range(text), in: text)
        case 2:
            // A range that begins or ends within a surrogate pair cuts it here only, if it has the marks already. So does Yjs.
            let range = range(text), units = Array(copy.text(text).utf16)
            guard ![range.lowerBound, range.upperBound].contains(where: { $0 < units.count && UTF16.isTrailSurrogate(units[$0]) })
            else { return }
            try copy.format(range, in: text, marks: [.init(key, a % 3 == 0 ? .null : .bool(b % 3 == 0))])
        case 3:
            let node: NewNode = [.value(1), .type(.text), .value(.bytes([1])), .document(id: "d")][b % 4]
            try copy.insert([.value("v"), node], at: a % (copy.count(list) + 1), in: list)
        case 4: try copy.delete(range(list), in: list)
        case 5: try copy.set(key, to: b % 8 < 4 ? .value(.number(Double(a))) : .type(.text), in: map)
        case 6: try copy.remove(key, in: map)
        default:
            guard case .type(let inner)? = copy.node(key, in: map) ?? copy.nodes(list).last else { return }
            try copy.insert("in", at: a % (copy.count(inner) + 1), in: inner)
        }
    }

    /// Names the first difference.
    static func expectSame(_ one: [String], _ other: [String], _ rule: String) throws {
        guard one != other else { return }
        let place = zip(one, other).prefix { $0 == $1 }.count
        throw Finding(description: "\(rule)\n  \(one.dropFirst(place).first ?? "-")\n  \(other.dropFirst(place).first ?? "-")")
    }
}

extension SharedDocument {
    /// All that the roots show, down to some depth, so that the content of two documents can be compared.
    var content: [String] {
        var lines: [String] = []
        for name in rootNames.inOrder {
            var root: SharedDocument = self
            let type = root.root(name, .text)
            show(type, "\(name)/", into: &lines)
        }
        return lines
    }

    private func show(_ type: SharedType, _ path: String, into lines: inout [String]) {
        guard lines.count < 500 else { return }
        for (index, run) in runs(type).enumerated() {
            let marks = run.marks.map { "\($0.key)=\($0.value.withPlainNaN)" }.inOrder
            switch run.content {
            case .text(let text): lines.append("\(path)\(index) \(text) \(marks)")
            case .embed(let value): lines.append("\(path)\(index) \(value.withPlainNaN) \(marks)")
            case .type: lines.append("\(path)\(index) type \(marks)")
            }
        }
        for (index, node) in nodes(type).enumerated() { show(node, "\(path)\(index)", into: &lines) }
        for key in keys(type).inOrder { if let node = node(key, in: type) { show(node, "\(path)\(key)", into: &lines) } }
    }

    private func show(_ node: DocumentNode, _ path: String, into lines: inout [String]) {
        switch node {
        case .value(let value): lines.append("\(path) \(value.withPlainNaN)")
        case .document(let id, let options): lines.append("\(path) \(id) \(options.withPlainNaN)")
        case .type(let type):
            lines.append("\(path) \(kind(of: type).map { "\($0)" } ?? "-") \(name(of: type) ?? "-")")
            if path.utf8.count < 400 { show(type, path + "/", into: &lines) }
        }
    }
}

extension [String] {
    /// In the order of their UTF-8, because Swift takes some texts as equal that a document tells apart.
    var inOrder: [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}

extension DocumentValue {
    /// With all NaN alike: which one it is gets lost on the way.
    fileprivate var withPlainNaN: DocumentValue {
        switch self {
        case .number(let number) where number.isNaN: .number(.nan)
        case .array(let items): .array(items.map(\.withPlainNaN))
        case .object(let entries): .object(entries.map { .init($0.key, $0.value.withPlainNaN) })
        default: self
        }
    }
}
