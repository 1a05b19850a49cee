import Foundation
import Holdfast
import RoomCore
import Testing

@testable import HoldfastHub

/// The numbers of this hub in docs/rooms-protocol.md.
private struct ProtocolPage {
    /// The page's text, with single spaces between the words.
    let words: String
    /// The cells of the page's tables, row by row.
    let rows: [[String]]

    init() throws {
        let page = try Self.read("docs/rooms-protocol.md")
        words = page.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { row in
            row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// Reads a file of the package.
    static func read(_ path: String) throws -> String {
        var folder = URL(filePath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return try String(contentsOf: folder.appending(path: path), encoding: .utf8)
    }

    func row(_ beginning: String) throws -> [String] {
        let found = rows.filter { $0.first?.hasPrefix(beginning) == true }
        try #require(found.count == 1, "one row begins with \(beginning)")
        return Array(found[0].dropFirst())
    }
}

extension Int64 {
    /// A number as the page writes it.
    fileprivate var written: String { self < 10_000 ? "\(self)" : "\(self / 1000),\("\(1000 + self % 1000)".dropFirst())" }

    /// A number of bytes as the page writes it.
    fileprivate var bytes: String { self % (1 << 20) == 0 ? "\(self >> 20) MiB" : "\(self >> 10) KiB" }
}

extension HubPolicy.Rate {
    fileprivate func written(_ form: (Int64) -> String = \.written) -> String { "\(form(perSecond)), at once \(form(burst))" }
}

@Suite struct ProtocolPageTests {
    private let page: ProtocolPage
    private let policy = HubConfiguration(data: "").policy

    init() throws { page = try ProtocolPage() }

    @Test func `the page has the rates of the hub`() throws {
        let all = [policy.connection, policy.user, policy.address]
        #expect(try page.row("publications") == all.map { $0.messages.written() })
        #expect(try page.row("bytes of frames `pub`") == all.map { $0.bytes.written(\.bytes) })
        #expect(try page.row("joins, and what costs as much") == all.map { $0.joins.written() })
        #expect(try page.row("bytes of stored entries") == all.map { $0.pages.written(\.bytes) })
        #expect(try page.row("connections (") == [""] + all.dropFirst().map { Int64($0.connections).written })
        let rooms = all.dropFirst().map { Int64($0.rooms).written }
        #expect(try page.row("rooms at once") == [policy.limits.rooms.written] + rooms)
        #expect(try page.row("frames of all kinds") == [policy.frames.written(), "", ""])
        #expect(try page.row("signals, typing and read markers") == [policy.signals.written(), "", ""])
        #expect(try page.row("typing in one room") == [policy.typing.written(), "", ""])
    }

    @Test func `the page has the limits of the hub`() {
        let limits = HubConfiguration(data: "").limits
        let line = """
            The default of `limits`: `frame` \(limits.frame.bytes), `body` \(limits.body.bytes), `roomWindow` \(limits.roomWindow), \
            `window` \(limits.window), `rooms` \(limits.rooms), `page` \(limits.page), `members` \(limits.members).
            """
        #expect(page.words.contains(line), "\(line)")
        for words in [
            "at most \(policy.heldFrames) frames and \(Int64(policy.heldBytes).bytes) of them",
            "`hist` may have \(policy.fetches) questions open on a connection",
            "all questions of a user are \(policy.userQuestions) at most",
            "\(policy.questions) such questions may be open on a connection and \(policy.allQuestions) in the hub",
            "for more than \(Int64(HubConfiguration(data: "").lanes.shortGreeting).bytes) already",
            "within \(policy.helloWithin.components.seconds) s of the upgrade",
        ] { #expect(page.words.contains(words), "\(words)") }
    }

    @Test func `the page's table of errors has all codes`() throws {
        let code = try Regex(#"Code\(rawValue: ([0-9]+)\)"#, as: (Substring, Substring).self)
        let known = try ProtocolPage.read("Sources/Core/RoomCore/Frames/HubFrame.swift").matches(of: code).compactMap { Int($0.output.1) }
        #expect(known.count > 15)
        let table = page.rows.compactMap { $0.count == 3 ? Int($0[0]) : nil }
        #expect(Set(table) == Set(known))
    }
}

@Suite struct FrameLimitTests {
    @Test func `a payload of the permitted size fits into a frame`() {
        var configuration = HubConfiguration(data: "")
        for (frame, body, isFit) in [
            (4096, 1024, true), (1 << 20, 700_000, true), (.max, 1 << 40, true), (1 << 20, 786_432, false), (1 << 20, .max, false),
            (2048, 0, false), (.min, 10, false),
        ] as [(Int64, Int64, Bool)] {
            (configuration.limits.frame, configuration.limits.body) = (frame, body)
            #expect(((try? configuration.serverConfiguration()) != nil) == isFit, "\(frame), \(body)")
        }
    }

    @Test func `the longest frame of a payload is not longer than calculated`() throws {
        // Each byte of these names and types needs an escape.
        let (name, type) = (String(repeating: "\"", count: 128), String(repeating: "\u{1}", count: 64))
        let content = Publication.Content(
            type: type, about: Reference(kind: type, seq: (1 << 53) - 1), payload: .binary([UInt8](repeating: 0xFF, count: 1534)))
        let publication = Publication(cseq: (1 << 53) - 1, id: .number(1), sent: (1 << 53) - 1, content: content)
        var configuration = HubConfiguration(data: "")
        (configuration.limits.frame, configuration.limits.body) = (4096, 1534)
        _ = try configuration.serverConfiguration()
        #expect(ClientFrame.publish(try #require(RoomName(name)), publication).json().count <= 4096)
        configuration.limits.body = 1537
        #expect(throws: HubError.self) { try configuration.serverConfiguration() }
    }
}

extension HubTests {
    /// Limits that the page describes, over sockets.
    @Suite struct ProtocolPageOverSocketsTests {
        private let directory: HubDirectory

        init() throws { directory = try HubDirectory() }

        @Test func `a connection may send a thousand frames of unknown types`() async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                for _ in 1...1000 { try await ann.connection.send(.text("{\"t\":\"later\"}")) }
                try await ann.send(.ping(7))
                #expect(try await ann.next { if case .pong(let number, _) = $0 { number } else { nil } } == 7)
                try await ann.connection.send(.text("{\"t\":\"later\"}"))
                #expect(try await ann.refusal().code == .malformed)
                #expect(try await ann.closeCode() == 4100)
            }
        }

        @Test func `a history request over the limit gets the largest permitted page`() async throws {
            try await Hub.stage(directory) { $0.limits.page = 3 }.withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                for cseq in Int64(1)...5 {
                    try await ann.publish(cseq)
                    _ = try await ann.ack()
                }
                let questions: [(Int64, Int64, [Int64])] = [(5, 0, [4]), (5, 1000, [2, 3, 4]), (1 << 52, 2, [4, 5]), (0, 1, [])]
                for (before, limit, seqs) in questions {
                    try await ann.send(.history(.init(reference: 1, room: .abc, before: before, limit: limit)))
                    let page = try await ann.next { if case .page(let page) = $0 { page } else { nil } }
                    #expect(page.items.map(\.seq) == seqs, "before \(before), limit \(limit)")
                }
                try await ann.connection.send(.text(#"{"t":"hist","ref":1,"room":"abc","before":5,"limit":-1}"#))
                #expect(try await ann.closeCode() == 4100)
            }
        }
    }
}
