import Foundation
import Holdfast

/// The checks of our client against an echo server.
///
/// Each prints `ok NAME` or `not ok NAME: why`.
struct Suite {
    /// The reason of a failed check.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }
    typealias Check = @Sendable (WebSocketConnection) async throws -> Void

    let url: String
    /// Whether the peer supports only lines of text.
    let isLineBased: Bool
    var configuration = WebSocketConfiguration()

    init(url: String, isLineBased: Bool) {
        (self.url, self.isLineBased) = (url, isLineBased)
        configuration.compression?.threshold = 0
    }

    /// Runs every check.
    ///
    /// Returns whether all passed.
    func run() async -> Bool {
        let connection: WebSocketConnection
        do {
            connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
            print("ok open")
        } catch {
            print("not ok open: \(error)")
            return false
        }
        var allPassed = true
        for (name, check) in isLineBased ? anyPeer + ending : anyPeer + fullPeer + ending {
            do {
                try await Self.withDeadline(.seconds(10)) { try await check(connection) }
                print("ok \(name)")
            } catch {
                print("not ok \(name): \(error)")
                allPassed = false
            }
        }
        return allPassed
    }

    /// The checks for a peer that supports only lines of text.
    private var anyPeer: [(String, Check)] {
        [
            ("compression", { [configuration] in try Self.expect($0.compression != nil, configuration.compression != nil) }),
            ("text", Self.echo(.text("hello"))),
            ("unicode", Self.echo(.text("Grüße, κόσμε, 世界, 🌍"))),
            ("long-text", Self.echo(.text(String(repeating: "0123456789abcdef", count: 4096)))),
            ("thousand-in-order", Self.thousandInOrder),
            ("ping", { _ = try await $0.ping() }),
        ]
    }

    private var fullPeer: [(String, Check)] {
        [
            ("binary", Self.echo(Self.binary(5))),
            ("empty-text", Self.echo(.text(""))),
            ("empty-binary", Self.echo(.binary([]))),
            ("125-bytes", Self.echo(Self.binary(125))),
            ("126-bytes", Self.echo(Self.binary(126))),
            ("65536-bytes", Self.echo(Self.binary(65_536))),
            ("one-mebibyte", Self.echo(Self.binary(1 << 20))),
            ("fragments", Self.fragments),
            ("closed-by-peer-4002", { _ in try await closedByPeer() }),
        ]
    }

    private var ending: [(String, Check)] {
        [
            (
                "close-4001",
                {
                    let record = await $0.close(code: CloseCode(rawValue: 4001), reason: "done")
                    try Self.expect(record.received?.code, CloseCode(rawValue: 4001))
                    try Self.expect(record.isClean, true)
                }
            )
        ]
    }

    private func closedByPeer() async throws {
        guard var parts = URLComponents(string: url) else { throw Failure(description: "no URL: \(url)") }
        parts.path = "/close/4002/why"
        let connection = try await WebSocketConnection.connect(to: parts.string ?? url, configuration: configuration)
        do {
            for try await message in connection.messages { throw Failure(description: "a message instead of a close: \(message)") }
            throw Failure(description: "4002 was taken for a clean end")
        } catch let error as WebSocketError {
            try Self.expect(error.closeRecord?.received, CloseFrame(CloseCode(rawValue: 4002), reason: "why"))
        }
    }
}
