import DocumentCore
import Foundation
import HoldfastDocuments

/// One of several that edit a document at a y-websocket server: what `Interop/documents/client.cjs` does with Yjs.
///
/// It types, edits without a connection in the middle, comes back, and prints what it has in the end as JSON.
struct DocumentEditor {
    private let client: DocumentClient
    private let name: String
    private let count: Int
    private var seen: Set<String> = []

    init(url: String, room: String, name: String, count: Int) {
        client = DocumentClient(url, document: room)
        (self.name, self.count) = (name, count)
    }

    mutating func run() async throws {
        client.present(.object([.init("name", .text(name))]))
        try await client.synced(within: .seconds(20))
        try await type(count / 2)
        await client.socket.disconnect()
        for number in 0..<5 { try type("(\(name) offline \(number))") }
        await client.socket.connect()
        try await client.synced(within: .seconds(20))
        try await type(count / 2)
        try client.edit { [name, count] document in
            let value = DocumentValue.object([
                .init("words", .number(Double(count))), .init("π", 3.5), .init("list", .array([1, .null, true, "ü"])),
            ])
            try document.set(name, to: .value(value), in: document.root("map", .map))
        }
        try await client.saved(within: .seconds(20))
        // The others are done when all their names are in the map.
        let deadline = ContinuousClock.now + .seconds(60)
        while map.count < 4, ContinuousClock.now < deadline { try await look(for: .milliseconds(50)) }
        try await look(for: .seconds(1))
        let text = client.read { document in document.root("text").map { document.text($0) } ?? "" }
        let others = seen.subtracting([name]).sorted().map { DocumentValue.text($0) }
        let result = DocumentValue.object([
            .init("name", .text(name)), .init("others", .array(others)), .init("map", .object(map)), .init("text", .text(text)),
        ])
        print(result.json)
        await client.close()
    }

    private mutating func type(_ words: Int) async throws {
        for number in 0..<words {
            try type("{\(name)\(number)é}")
            try await look(for: .milliseconds(20))
        }
    }

    private func type(_ word: String) throws {
        let place = Double.random(in: 0..<1), deletes = Double.random(in: 0..<1) < 0.2
        try client.edit { document in
            let text = document.root("text", .text), count = document.count(text)
            try document.insert(word, at: Int(place * Double(count + 1)), in: text)
            if deletes, count > 4 {
                let start = Int(place * Double(count))
                try document.delete(start..<start + 1, in: text)
            }
        }
    }

    /// Waits, and notes who is here.
    private mutating func look(for time: Duration) async throws {
        try await Task.sleep(for: time)
        for case .text(let name)? in client.presence.values.map({ $0["name"] }) { seen.insert(name) }
    }

    private var map: [DocumentValue.Entry] {
        client.read { document in
            guard let map = document.root("map") else { return [] }
            return document.keys(map).compactMap { key in
                if case .value(let value)? = document.node(key, in: map) { .init(key, value) } else { nil }
            }
        }
    }
}
