import CodecCore
import Foundation
import MachineCore

/// Compares our documents with those of Yjs in random programs: edits of several copies, and their updates in any order.
///
/// Prints a line for each kind of comparison, `ok NAME` or `not ok NAME`. After a difference it prints the seed that repeats the
/// program, and what the program did.
struct OracleRun {
    /// The command that starts `Interop/documents/oracle.cjs`.
    let command: [String]
    let seed: UInt64
    let programs: Int

    init(command: [String], seed: UInt64, programs: Int) { (self.command, self.seed, self.programs) = (command, seed, programs) }

    func run() throws -> Bool {
        let oracle = try OracleProcess(command)
        defer { oracle.stop() }
        var counts: [OracleProgram.Kind: Int] = [:], failures: [OracleProgram.Kind: Int] = [:]
        for number in 0..<programs {
            // Each program has a seed of its own, so that it can be repeated without those before it.
            var program = OracleProgram(seed: seed &+ UInt64(number), oracle: oracle)
            counts[program.kind, default: 0] += 1
            do {
                try oracle.ask([("reset", .integer(1))])
                try program.run()
            } catch {
                if oracle.hasEnded { throw error }
                failures[program.kind, default: 0] += 1
                // More of one kind say little, and a log of thousands of programs is of no use.
                guard failures[program.kind, default: 0] <= 3 else { continue }
                print("not ok \(program.kind.rawValue): \(error)")
                print("    repeat with: --programs 1 --seed \(seed &+ UInt64(number))")
                for line in program.log { print("    \(line)") }
            }
        }
        for kind in OracleProgram.Kind.allCases {
            let count = counts[kind, default: 0], failed = failures[kind, default: 0]
            if failed == 0 {
                print("ok \(kind.rawValue) (\(count) programs, seed \(seed))")
            } else {
                print("not ok \(kind.rawValue): \(failed) of \(count) programs, seed \(seed)")
            }
        }
        return failures.isEmpty
    }
}

/// Two implementations do not agree.
struct OracleDifference: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// An update in both versions of the format.
struct OracleUpdate {
    var v1: [UInt8]
    var v2: [UInt8]

    init(v1: [UInt8], v2: [UInt8]) { (self.v1, self.v2) = (v1, v2) }

    init(_ value: Value) { self.init(v1: value.oracleBytes("v1"), v2: value.oracleBytes("v2")) }
}

/// Yjs in a process of its own, which answers a line of JSON with a line of JSON.
final class OracleProcess {
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())
    private var buffer = Data()
    private(set) var hasEnded = false

    init(_ command: [String]) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    @discardableResult func ask(_ entries: [(String, Value)]) throws -> Value {
        let request = Value.map(ValueMap(entries.map { .init(key: .text($0.0), value: $0.1) }))
        try input.fileHandleForWriting.write(contentsOf: Data(try request.json() + [0x0A]))
        let answer = try Value(json: [UInt8](line()))
        if let error = answer["error"]?.string { throw OracleDifference("Yjs says: \(error)") }
        return answer
    }

    private func line() throws -> Data {
        var searched = 0
        while true {
            if let end = buffer[(buffer.startIndex + searched)...].firstIndex(of: 0x0A) {
                defer { buffer = Data(buffer[(end + 1)...]) }
                return buffer[..<end]
            }
            searched = buffer.count
            let more = output.fileHandleForReading.availableData
            hasEnded = more.isEmpty
            if hasEnded { throw OracleDifference("the process of Yjs has ended") }
            buffer += more
        }
    }
}

extension Value {
    /// The bytes of a key, which stand there in hexadecimal.
    func oracleBytes(_ key: String) -> [UInt8] { Hexadecimal.bytes((self[key]?.string ?? "").utf8) ?? [] }

    /// The value with the keys of all objects sorted, and numbers in one form, as JSON: so that two dumps can be compared.
    func oracleText() throws -> String { String(decoding: try ordered.json(), as: UTF8.self) }

    private var ordered: Value {
        switch self {
        case .array(let items): .array(items.map(\.ordered))
        case .map(let map):
            .map(
                ValueMap(
                    map.entries.map { .init(key: $0.key, value: $0.value.ordered) }
                        // By bytes: Swift takes some different texts for equal.
                        .sorted { ($0.key.string ?? "").utf8.lexicographicallyPrecedes(($1.key.string ?? "").utf8) }))
        case .float(let number): Int64(exactly: number).map { .integer($0) } ?? self
        default: self
        }
    }
}
