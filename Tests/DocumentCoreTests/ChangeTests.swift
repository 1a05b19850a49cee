import CodecCore
import Testing

@testable import DocumentCore

@Suite struct `Changes of shared documents` {
    /// A view that knows nothing but the changes.
    private struct Mirror {
        var units: [(unit: UInt16?, marks: [DocumentValue.Entry])] = []

        mutating func apply(_ steps: [DocumentChange.Step]) {
            var place = 0
            for step in steps {
                switch step {
                case .retain(let count, let changed):
                    for index in place..<place + count {
                        for entry in changed {
                            units[index].marks.removeAll { $0.key == entry.key }
                            if entry.value != .null { units[index].marks.append(entry) }
                        }
                    }
                    place += count
                case .delete(let count): units.removeSubrange(place..<place + count)
                case .text(let text, let marks):
                    units.insert(contentsOf: text.utf16.map { ($0, marks) }, at: place)
                    place += text.utf16.count
                case .nodes(let nodes, let marks):
                    units.insert(contentsOf: nodes.map { _ in (nil, marks) }, at: place)
                    place += nodes.count
                }
            }
        }

        var plain: [String] {
            units.map {
                "\($0.unit.map(String.init) ?? "node") \($0.marks.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.json)" })"
            }
        }
    }

    private func plain(_ runs: [TextRun]) -> [String] {
        var mirror = Mirror()
        for run in runs {
            if case .text(let text) = run.content {
                mirror.units += text.utf16.map { ($0, run.marks) }
            } else {
                mirror.units.append((nil, run.marks))
            }
        }
        return mirror.plain
    }

    @Test func `a view that follows the changes shows what the document holds`() throws {
        for vector in try Vectors.lines("script") where vector["only"]?[0]?.string == "text" {
            var script = Script(client: 1)
            script.document.observesChanges = true
            let text = try #require(script.roots["text"])
            var mirror = Mirror()
            for step in vector.objects("steps") {
                try script.run(step["op"] ?? .null)
                _ = script.document.commit()
                for change in script.document.changes where change.type == text { mirror.apply(change.steps) }
                #expect(mirror.plain == plain(script.document.runs(text)))
            }
        }
        for vector in try Vectors.lines("converge") where vector["only"]?[0]?.string == "text" {
            var script = Script(client: 1)
            script.document.observesChanges = true
            let text = try #require(script.roots["text"]), updates = vector.objects("updates")
            for order in vector.objects("orders") {
                var script = script, mirror = Mirror()
                for index in order.items ?? [] {
                    try script.document.apply(updates[index.int ?? 0].bytes(.v1))
                    for change in script.document.changes where change.type == text { mirror.apply(change.steps) }
                }
                #expect(mirror.plain == plain(script.document.runs(text)))
            }
        }
    }

    @Test func `changes name keys, nodes and types that were there before`() throws {
        var document = SharedDocument(client: 1)
        document.observesChanges = true
        let map = document.root("map", .map), list = document.root("list", .array)
        try document.set("a", to: .value(1), in: map)
        let inner = try #require(try document.set("inner", to: .type(.map), in: map))
        try document.set("x", to: .value("new"), in: inner)
        try document.insert([.value(1), .value(2)], at: 0, in: list)
        #expect(document.changes.isEmpty)
        _ = document.commit()
        #expect(
            document.changes == [
                DocumentChange(type: map, keys: ["a", "inner"]), DocumentChange(type: list, steps: [.nodes([.value(1), .value(2)])]),
            ])
        try document.set("x", to: .value("newer"), in: inner)
        try document.delete(0..<1, in: list)
        try document.insert([.type(.text)], at: 1, in: list)
        _ = document.commit()
        #expect(document.changes.map(\.type) == [list, inner] && document.changes[1].keys == ["x"])
        guard case .nodes(let nodes, _)? = document.changes[0].steps.last, case .type? = nodes.first else { throw Missing() }
        #expect(document.changes[0].steps.prefix(2) == [.delete(1), .retain(1)])
        #expect(document.commit() == nil && document.changes.isEmpty)
    }

    private struct Missing: Error {}
}
