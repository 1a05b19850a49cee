import CodecCore
import DocumentCore
import Foundation

/// Replays recorded editing with our documents, and prints the processor time of each part: what `Benchmarks/documents/run.sh` compares
/// with Yjs and yrs.
enum DocumentBench {
    struct BadFile: Error {}

    /// Runs what the words of a command say.
    ///
    /// Returns false if they say nothing.
    static func run(_ words: [String]) throws -> Bool {
        switch (words[0], words.count) {
        case ("trace", 2): try run(trace: words[1])
        case ("updates", 2): try run(updates: words[1])
        case ("memory", 2): try run(memory: words[1])
        case ("state", 3): try run(state: words[1], to: words[2])
        case ("random", 2): try run(random: Int(words[1]) ?? 0)
        default: return false
        }
        return true
    }

    /// Replays a sequential trace: each patch is a transaction of its own.
    static func run(trace file: String) throws {
        let trace = try json(file)[0]
        let patches = try trace.list("txns").flatMap { $0.list("patches") }.map { patch in
            guard let at = patch[0]?.int, let removed = patch[1]?.int, let inserted = patch[2]?.string else { throw BadFile() }
            return (at, removed, inserted)
        }
        var document = SharedDocument(client: 1), updates: [[UInt8]] = []
        let text = document.root("text", .text)
        try time("replay ms") {
            for (at, removed, inserted) in patches {
                if removed > 0 {
                    try document.delete(at..<at + removed, in: text)
                    if let update = document.commit() { updates.append(update) }
                }
                if !inserted.isEmpty {
                    try document.insert(inserted, at: at, in: text)
                    if let update = document.commit() { updates.append(update) }
                }
            }
        }
        guard document.text(text) == trace["endContent"]?.string else { throw BadFile() }
        print(updates.reduce(0) { $0 + $1.count }, "updates B")
        try time("replay in one transaction ms") {
            var document = SharedDocument(client: 1)
            let text = document.root("text", .text)
            for (at, removed, inserted) in patches {
                if removed > 0 { try document.delete(at..<at + removed, in: text) }
                if !inserted.isEmpty { try document.insert(inserted, at: at, in: text) }
            }
            _ = document.commit()
        }
        let state = try time("encode v1 ms") { try document.update() }
        let small = try time("encode v2 ms") { try document.update(.v2) }
        print(state.count, "v1 B")
        print(small.count, "v2 B")
        let loaded = try time("parse v1 ms") { try load(state, .v1) }
        guard try loaded.update() == state else { throw BadFile() }
        _ = try time("parse v2 ms") { try load(small, .v2) }
        try time("apply all updates ms") { _ = try apply(updates) }
        _ = try time("merge 2000 updates ms") { try DocumentUpdate.merge(Array(updates.prefix(2000))) }
        print(document.blockCount, "blocks")
    }

    /// Applies the updates of several clients one by one: a file of Benchmarks/documents/concurrent.cjs.
    static func run(updates file: String) throws {
        let updates = try json(file).map { line in try bytes(line["v1"]?.string) }
        let document = try time("apply all updates ms") { try apply(updates) }
        print(try document.update().count, "v1 B")
        print(document.blockCount, "blocks")
    }

    /// Types single characters at random places of a text.
    static func run(random count: Int) throws {
        var document = SharedDocument(client: 1), seed: UInt64 = 1
        let text = document.root("text", .text)
        try time("random replay ms") {
            for length in 0..<count {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                try document.insert("x", at: Int(seed >> 33) % (length + 1), in: text)
                _ = document.commit()
            }
        }
        let state = try document.update()
        _ = try time("random parse v1 ms") { try load(state, .v1) }
        print(state.count, "random v1 B")
    }

    /// Measures the memory of a document: of twenty that are loaded in a process that has done nothing else.
    static func run(memory file: String) throws {
        let state = [UInt8](try Data(contentsOf: URL(filePath: file)))
        _ = try load(state, .v1)
        let before = residentMemory()
        let documents = try (0..<20).map { _ in try load(state, .v1) }
        print((residentMemory() - before) / documents.count, "document memory B")
    }

    /// Writes the state at the end of a trace.
    static func run(state file: String, to target: String) throws {
        let trace = try json(file)[0]
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text)
        for patch in trace.list("txns").flatMap({ $0.list("patches") }) {
            guard let at = patch[0]?.int, let removed = patch[1]?.int, let inserted = patch[2]?.string else { throw BadFile() }
            try document.delete(at..<at + removed, in: text)
            try document.insert(inserted, at: at, in: text)
            _ = document.commit()
        }
        try Data(document.update()).write(to: URL(filePath: target))
    }

    // MARK: - Parts

    private static func load(_ state: [UInt8], _ version: UpdateVersion) throws -> SharedDocument {
        var document = SharedDocument(client: 2)
        try document.apply(state, version)
        _ = document.text(document.root("text", .text)).utf16.count
        return document
    }

    private static func apply(_ updates: [[UInt8]]) throws -> SharedDocument {
        var document = SharedDocument(client: 2)
        for update in updates { try document.apply(update) }
        return document
    }

    /// Takes the processor time, so that a busy machine does not count.
    private static func time<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
        let start = clock()
        let result = try body()
        print(String(format: "%.2f", Double(clock() - start) * 1000 / Double(CLOCKS_PER_SEC)), name)
        return result
    }

    /// The lines of a file of gzip, each a JSON value.
    private static func json(_ file: String) throws -> [Value] {
        let unzip = Process(), out = Pipe()
        unzip.executableURL = URL(filePath: "/usr/bin/env")
        unzip.arguments = ["gzip", "-dc", file]
        unzip.standardOutput = out
        try unzip.run()
        let data = try out.fileHandleForReading.readToEnd() ?? Data()
        unzip.waitUntilExit()
        let values = try data.split(separator: UInt8(ascii: "\n")).map { try Value(json: [UInt8]($0)) }
        if values.isEmpty { throw BadFile() }
        return values
    }

    private static func bytes(_ hex: String?) throws -> [UInt8] {
        guard let digits = hex.map({ Array($0.utf8).map { $0 < 58 ? $0 - 48 : $0 - 87 } }) else { throw BadFile() }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// In bytes, from the kernel's count of pages.
    private static func residentMemory() -> Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
    }
}

extension Value {
    fileprivate func list(_ key: String) -> [Value] { self[key]?.items ?? [] }
}

extension SharedDocument {
    fileprivate func update(_ version: UpdateVersion = .v1) throws -> [UInt8] { try update(since: nil, version) }
}
