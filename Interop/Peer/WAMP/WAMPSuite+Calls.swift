import CodecCore
import Foundation
import HoldfastWAMP
import WAMPCore

extension WAMPSuite {
    static let values: [Value] = [
        .null, true, false, 0, -1, 127, 128, 255, 65536, -32769, 9_007_199_254_740_992, -9_007_199_254_740_992, 0.5, -1e300, "", "plain",
        "Grüße, 世界 🌍", "a\0b", [], [:], [1, [2, [3, ["a": [nil]]]]], ["": 1, "ключ": ["b": [true]]],
    ]

    /// The checks for every router.
    var calls: [(String, Check)] {
        [
            ("a typed call returns its result", { try Suite.expect(try await $0.one.call(PartnerAPI.add, 23, 7), 30) }),
            ("values come back as they were sent", Self.echoes),
            ("positional and keyword arguments return together", Self.keywords),
            ("a large payload comes back", Self.large),
            ("a hundred concurrent calls get their own results", Self.hundred),
            ("an error of the callee has its URI and arguments", Self.failure),
            ("a call of an unregistered procedure is an error", Self.nobody),
        ]
    }

    var advancedCalls: [(String, Check)] {
        [
            ("bytes come back as they were sent", Self.bytes),
            ("a result comes in parts", Self.parts),
            ("a call whose task is cancelled ends at once, and interrupts the callee", Self.cancelled),
            ("a call ends at its timeout, and interrupts the callee", Self.timedOut),
            ("a call that is skipped ends at once", Self.skipped),
        ]
    }

    @Sendable private static func echoes(_ world: WAMPWorld) async throws {
        for value in values { try Suite.expect(try await world.one.call("com.partner.echo", [value]).list, [value]) }
    }

    @Sendable private static func bytes(_ world: WAMPWorld) async throws {
        // In JSON they return as text.
        for bytes: [UInt8] in [[0], Array(0...255)] {
            let echo = Procedure<Blob, Blob>("com.partner.echo")
            try Suite.expect(try await world.one.call(echo, Blob(bytes)), Blob(bytes))
        }
    }

    @Sendable private static func keywords(_ world: WAMPWorld) async throws {
        let result = try await world.one.call("com.partner.echo", [1, 2], keywords: ["a": 3, "b": [4]])
        try Suite.expect(try result.list, [1, 2])
        try Suite.expect(try result.keywords["a"], 3)
        try Suite.expect(try result.keywords["b"], [4])
    }

    @Sendable private static func large(_ world: WAMPWorld) async throws {
        let text = Value.text(String(repeating: "x", count: 1_000_000))
        try Suite.expect(try await world.one.call("com.partner.echo", [text]).list.first == text, true)
    }

    @Sendable private static func hundred(_ world: WAMPWorld) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask { try Suite.expect(try await world.one.call(PartnerAPI.add, number, 1000), number + 1000) }
            }
            try await group.waitForAll()
        }
    }

    @Sendable private static func failure(_ world: WAMPWorld) async throws {
        do {
            try await world.one.call("com.partner.fail", [1, "two"])
        } catch {
            try Suite.expect(error.code, .refused)
            try Suite.expect(error.uri, "com.partner.error.refused")
            try Suite.expect(try error.arguments.list, [1, "two"])
            try Suite.expect(try error.arguments.keywords["hint"], "never")
            return
        }
        throw Suite.Failure(description: "no error")
    }

    @Sendable private static func nobody(_ world: WAMPWorld) async throws {
        try await Suite.refusal(uri: WAMPURI.Error.noSuchProcedure) { try await world.one.call("com.nobody.here") }
    }

    @Sendable private static func parts(_ world: WAMPWorld) async throws {
        var parts: [Int] = []
        for try await part in try world.one.callProgressively(Procedure<Int, Int>("com.partner.count"), 5) { parts.append(part.value) }
        try Suite.expect(parts, [1, 2, 3, 4, 5])
    }

    /// A call that keeps the partner busy.
    static func slow<Result: Sendable>(
        _ world: WAMPWorld, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Task<Result, any Error> {
        let before = try await world.ask("begun", 0).int ?? 0
        let call = Task { try await body() }
        _ = try await world.ask("begun", .integer(Int64(before + 1)))
        return call
    }

    @Sendable private static func cancelled(_ world: WAMPWorld) async throws {
        let before = try await world.ask("interrupted", 0).int ?? 0
        let call = try await slow(world) { try await world.one.call("com.partner.slow") }
        call.cancel()
        try await Suite.refusal(.cancelled) { _ = try await call.value }
        try Suite.expect(try await world.ask("interrupted", .integer(Int64(before + 1))), .integer(Int64(before + 1)))
    }

    @Sendable private static func timedOut(_ world: WAMPWorld) async throws {
        let before = try await world.ask("interrupted", 0).int ?? 0
        do {
            try await world.one.call("com.partner.slow", options: CallOptions(timeout: .milliseconds(200)))
            throw Suite.Failure(description: "no error")
        } catch let error as WAMPError {
            // A router with its own timeout may be first.
            if error.uri != WAMPURI.Error.timeout { try Suite.expect(error.code, .timedOut) }
        }
        try Suite.expect(try await world.ask("interrupted", .integer(Int64(before + 1))), .integer(Int64(before + 1)))
    }

    @Sendable private static func skipped(_ world: WAMPWorld) async throws {
        let call = try await slow(world) { try await world.one.call("com.partner.slow", options: CallOptions(cancelMode: .skip)) }
        call.cancel()
        try await Suite.refusal(.cancelled) { _ = try await call.value }
        try Suite.expect(try await world.one.call(PartnerAPI.add, 1, 1), 2)
    }
}

/// The procedures of the partner.
enum PartnerAPI {
    static let add = Procedure<(Int, Int), Int>("com.partner.add2")
}

/// Bytes in the form of each serialization.
struct Blob: Codable, Equatable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws { bytes = [UInt8](try decoder.singleValueContainer().decode(Data.self)) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(bytes))
    }
}
