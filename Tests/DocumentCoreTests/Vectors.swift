import CodecCore
import DocumentCore
import Foundation

/// The vectors that Yjs 13.5.43 wrote (`Interop/documents`), one JSON object a line.
enum Vectors {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Interop/documents")

    /// The lines of one kind.
    static func lines(_ kind: String) throws -> [Value] {
        let lines = try all.get().filter { $0.string("kind") == kind }
        if lines.isEmpty { throw Missing(kind: kind) }
        return lines
    }

    struct Missing: Error { let kind: String }

    private static let all = Result {
        let unzip = Process(), out = Pipe()
        unzip.executableURL = URL(filePath: "/usr/bin/env")
        unzip.arguments = ["gzip", "-dc", folder.appending(path: "vectors.jsonl.gz").path]
        unzip.standardOutput = out
        try unzip.run()
        let data = try out.fileHandleForReading.readToEnd() ?? Data()
        unzip.waitUntilExit()
        return try data.split(separator: UInt8(ascii: "\n")).map { try Value(json: [UInt8]($0)) }
    }
}

extension Value {
    func objects(_ key: String) -> [Value] { self[key]?.items ?? [] }
    func numbers(_ key: String) -> [Int] { objects(key).compactMap(\.int) }
    func number(_ key: String) -> Int { self[key]?.int ?? 0 }
    func string(_ key: String) -> String { self[key]?.string ?? "" }
    /// A byte string in hexadecimal.
    func bytes(_ key: String) -> [UInt8] { [UInt8](hex: string(key)) }
    func bytes(_ version: UpdateVersion) -> [UInt8] { bytes(version == .v1 ? "v1" : "v2") }
}

extension [UInt8] {
    init(hex: String) {
        let digits = Array(hex.utf8).map { $0 < 58 ? $0 - 48 : $0 - 87 }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// An update as it is written when it is read without a document: clients of the delete set in descending order, as newer versions
    /// of Yjs write it, and no bit for a key that the block takes from its neighbour.
    func canonical(_ version: UpdateVersion) throws -> [UInt8] { try DocumentUpdate.convert(self, from: version, to: version) }
}

extension DocumentValue {
    /// A value as the vectors write it: JSON, and objects with a `$` for what JSON has not.
    init(vector: Value) {
        switch vector {
        case .bool(let flag): self = .bool(flag)
        case .text(let text): self = .text(text)
        case .array(let items): self = .array(items.map { DocumentValue(vector: $0) })
        case .map(let map):
            if let hex = vector["$bytes"]?.string {
                self = .bytes([UInt8](hex: hex))
            } else if vector["$undefined"] != nil {
                self = .undefined
            } else if let digits = vector["$bigint"]?.string {
                self = .bigInteger(Int64(digits) ?? 0)
            } else if let digits = vector["$number"]?.string {
                self = .number(digits == "NaN" ? .nan : digits == "-0" ? -0.0 : digits == "Infinity" ? .infinity : -.infinity)
            } else {
                self = .object(map.entries.map { Entry($0.key.string ?? "", DocumentValue(vector: $0.value)) })
            }
        default: self = vector.double.map { .number($0) } ?? .null
        }
    }

    /// The value as the vectors write it, keys sorted.
    var vector: Value {
        switch self {
        case .undefined: .map(ValueMap([.init(key: "$undefined", value: .integer(1))]))
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .number(let number):
            if !number.isFinite || number.bitPattern == (-0.0).bitPattern {
                .map(
                    ValueMap([
                        .init(
                            key: "$number", value: .text(number.isNaN ? "NaN" : number == 0 ? "-0" : number > 0 ? "Infinity" : "-Infinity"))
                    ]))
            } else {
                Int64(exactly: number).map { .integer($0) } ?? .float(number)
            }
        case .bigInteger(let number): .map(ValueMap([.init(key: "$bigint", value: .text(String(number)))]))
        case .text(let text): .text(text)
        case .bytes(let bytes): .map(ValueMap([.init(key: "$bytes", value: .text(bytes.hex))]))
        case .array(let items): .array(items.map(\.vector))
        case .object(let entries):
            .map(ValueMap(entries.sorted { $0.key < $1.key }.map { .init(key: .text($0.key), value: $0.value.vector) }))
        }
    }
}
