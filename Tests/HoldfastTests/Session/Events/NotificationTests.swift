import Foundation
import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing
import WebSocketCore

/// The notifications that a socket posts.
@Suite(.timeLimit(.minutes(1))) struct NotificationTests {
    typealias Key = WebSocketNotifications.Key

    private let queue = DispatchQueue(label: "notifications")

    /// Records the notifications of a socket.
    final class NotificationLog: Sendable {
        private let lines = LockedValue<[String]>([])
        private let (added, add) = AsyncStream.makeStream(of: String.self)

        var all: [String] { lines.withLockedValue(\.self) }

        func observe(_ socket: WebSocket, in center: NotificationCenter) {
            let names: [Notification.Name] = [
                .webSocketConnecting, .webSocketDidOpen, .webSocketDidReceive, .webSocketDidFail, .webSocketDidClose,
            ]
            for name in names {
                _ = center.addObserver(forName: name, object: socket, queue: nil) { [lines, add] notification in
                    let line = Self.line(notification)
                    lines.withLockedValue { $0.append(line) }
                    add.yield(line)
                }
            }
        }

        func waitFor(_ line: String) async { for await other in added where other == line { return } }

        private static func line(_ notification: Notification) -> String {
            let info = notification.userInfo ?? [:]
            var words = [notification.name.rawValue.replacingOccurrences(of: "holdfast.webSocket", with: "")]
            if let attempt = info[Key.attempt] as? Int { words.append("attempt \(attempt)") }
            if let opening = info[Key.opening] as? Opening { words.append(opening.subprotocol ?? "no subprotocol") }
            if let message = info[Key.message] as? Message { words.append("\(message)") }
            if let delay = info[Key.delay] as? Duration { words.append("after \(delay)") }
            if let error = info[Key.error] as? WebSocketError { words.append("\(error.code)") }
            if let closure = info[Key.closure] as? Closure { words.append(closure.error == nil ? "in peace" : "in trouble") }
            return words.joined(separator: ", ")
        }
    }

    @Test func `each notification waitFor its name and its values`() async throws {
        let (stage, center, log) = (Stage(), NotificationCenter(), NotificationLog())
        log.observe(stage.socket, in: center)
        let notifications = WebSocketNotifications(stage.socket, center: center, queue: queue)
        let peer = try await stage.accept()
        try await peer.send(.text("hello"))
        await log.waitFor(#"DidReceive, text, 5 bytes: "hello""#)
        peer.cut()
        await stage.pause()
        try await stage.refuse(.refused(403))
        await log.waitFor("DidClose, refused, in trouble")
        queue.sync {}
        #expect(
            log.all == [
                "Connecting, attempt 1", "DidOpen, attempt 1, no subprotocol", #"DidReceive, text, 5 bytes: "hello""#,
                "DidFail, attempt 2, after 1.0 seconds, lost", "Connecting, attempt 2", "DidFail, refused", "DidClose, refused, in trouble",
            ])
        withExtendedLifetime(notifications) {}
    }

    @Test func `a clean end posts no failure, and the default queue is the main queue`() async throws {
        let (stage, center, log) = (Stage(), NotificationCenter(), NotificationLog())
        log.observe(stage.socket, in: center)
        let notifications = WebSocketNotifications(stage.socket, center: center)
        await stage.socket.close()
        await log.waitFor("DidClose, in peace")
        #expect(!log.all.contains { $0.hasPrefix("DidFail") })
        withExtendedLifetime(notifications) {}
    }

    @Test func `nothing is posted after a release on the queue`() async throws {
        let (stage, center, log) = (Stage(), NotificationCenter(), NotificationLog())
        log.observe(stage.socket, in: center)
        let notifications = LockedValue<WebSocketNotifications?>(
            WebSocketNotifications(stage.socket, center: center, queue: queue))
        let peer = try await stage.accept()
        await log.waitFor("DidOpen, attempt 1, no subprotocol")
        queue.sync { notifications.withLockedValue { $0 = nil } }
        var reader = stage.eventReader()
        try await peer.send(.text("unheard"))
        while let event = await reader.next(), event != .message(.text("unheard")) {}
        queue.sync {}
        #expect(log.all.last == "DidOpen, attempt 1, no subprotocol")
    }
}
