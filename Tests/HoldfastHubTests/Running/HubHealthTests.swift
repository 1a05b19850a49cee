import Foundation
import Holdfast
import Logging
import RoomCore
import ScriptedPeers
import Testing

@testable import HoldfastHub
import WebSocketRuntime

extension HubTests {
    /// What a hub reports about a failing log.
    @Suite struct HubHealthTests {
        private let directory: HubDirectory

        init() throws { directory = try HubDirectory() }

        /// A log handler that passes on each line.
        private struct LineHandler: LogHandler {
            let lines: AsyncStream<String>.Continuation
            var logLevel = Logger.Level.notice
            var metadata: Logger.Metadata = [:]

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) { lines.yield("\(event.message) \(event.metadata?["reason"].map { "\($0)" } ?? "")") }
        }

        private func hub(_ lines: AsyncStream<String>.Continuation) -> Hub {
            Hub.stage(directory) { $0.logger = Logger(label: "test") { _ in LineHandler(lines: lines) } }
        }

        /// The body of a page of the hub.
        private func page(_ path: String, of hub: RunningHub) async throws -> String {
            let peer = try await ScriptedPeer.connect(to: hub.server.port)
            try await peer.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            _ = try await peer.readResponse()
            return String(decoding: await peer.readToEnd(), as: UTF8.self)
        }

        /// Waits until a page has a text.
        ///
        /// The page shows the last full second.
        private func wait(for text: String, on path: String, of hub: RunningHub) async throws {
            while try await !page(path, of: hub).contains(text) { try await Task.sleep(for: .milliseconds(50)) }
        }

        /// Creates a log with one publication.
        private func leaveLog() async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                try await ann.publish(1)
                _ = try await ann.ack()
            }
        }

        @Test func `new epochs of a log are reported in the program's log, the status and the metrics`() async throws {
            try await leaveLog()
            try FileManager.default.removeItem(atPath: directory.path + "/log/high")
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            try await hub(continuation).withRunning { hub in
                for await line in lines where line.contains("new epochs") {
                    #expect(line.contains("the file high is missing"))
                    break
                }
                try await wait(for: "\"renewed\":true", on: "/status.json", of: hub)
                let status = try await page("/status.json", of: hub)
                #expect(status.contains("all rooms got new epochs when the hub was started: the file high"))
                try await wait(for: "holdfast_hub_log_renewed 1", on: "/metrics", of: hub)
            }
        }

        @Test func `a clock that is not trusted is reported in the program's log, the status and the metrics`()
            async throws
        {
            try await leaveLog()
            // A log that is no longer young and is 100 days ahead of the calendar.
            let ahead = WallClock.milliseconds + 100 * 86_400_000 + 3_600_000
            try LogBench.edit(
                directory.path + "/log/rooms.sqlite",
                """
                UPDATE meta SET value = \(ahead) WHERE name IN ('time', 'expected');
                UPDATE meta SET value = \(LogClock.youth) WHERE name = 'risen'
                """)
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            try await hub(continuation).withRunning { hub in
                for await line in lines where line.contains("the clock is not trusted") {
                    #expect(line.contains("100 days behind"))
                    break
                }
                try await wait(for: "\"doubted\":true", on: "/status.json", of: hub)
                #expect(try await page("/status.json", of: hub).contains("the clock is not trusted: it is 100 days behind"))
                try await wait(for: "holdfast_hub_clock_doubted 1", on: "/metrics", of: hub)
            }
        }

        @Test func `a failure to write the proof keys is reported in the program's log`() async throws {
            try await leaveLog()
            // The keys' table cannot be written.
            try LogBench.edit(directory.path + "/log/rooms.sqlite", "DROP TABLE secrets; CREATE VIEW secrets AS SELECT 1")
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            try await hub(continuation).withRunning { _ in
                for await line in lines where line.contains("cursors get no proofs") { break }
            }
        }

        @Test func `a failed append is reported in the program's log and the status`() async throws {
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            try await hub(continuation).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                try await ann.publish(1)
                _ = try await ann.ack()
                let file = directory.path + "/log/rooms.sqlite"
                let refusing =
                    "CREATE TRIGGER refusing BEFORE INSERT ON entries WHEN NEW.cseq = 2 BEGIN SELECT RAISE(ABORT, 'refused'); END"
                try LogBench.edit(file, refusing)
                try await ann.publish(2)
                #expect(try await ann.refusal().code == .storage)
                for await line in lines where line.contains("publications could not be stored") && line.contains("refused") { break }
                let status = try await page("/status.json", of: hub)
                #expect(status.contains("\"failure\":") && !status.contains("\"failedAppends\":0"))
            }
        }

        @Test func `a rewind that a client's proof shows is reported in the program's log and counted`() async throws {
            let (cursor, proof) = try await Hub.stage(directory).withRunning { hub -> (LogPosition, CursorProof?) in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                let epoch = try await ann.join().epoch
                try await ann.publish(1)
                try await ann.publish(2)
                while true {
                    let (seq, proof) = try await ann.next { frame -> (Int64, CursorProof?)? in
                        if case .entries(_, _, let entries, let proof) = frame { (entries.last?.seq ?? 0, proof) } else { nil }
                    }
                    if seq == 2 { return (LogPosition(epoch: epoch, seq: 2), proof) }
                }
            }
            // The earlier contents of the volume.
            try LogBench.edit(directory.path + "/log/rooms.sqlite", "DELETE FROM entries WHERE cseq = 2; UPDATE rooms SET head = 1")
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            try await hub(continuation).withRunning { hub in
                let bob = try await HubGuest(hub.url)
                try await bob.hello(token: "dev:bob")
                try await bob.send(.join(ClientFrame.Join(room: .abc, cursor: cursor, proof: proof)))
                let state = try await bob.state()
                #expect(state.isSnapshot && state.epoch != cursor.epoch && state.to == 1)
                for await line in lines where line.contains("went back") { break }
                try await wait(for: "\"rewound\":1", on: "/status.json", of: hub)
            }
        }

        @Test func `a full disk is reported in the program's log and by the readiness probe`()
            async throws
        {
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            let hub = Hub.stage(directory) {
                $0.logger = Logger(label: "test") { _ in LineHandler(lines: continuation) }
                $0.quotas.free = .max / 2
            }
            try await hub.withRunning { hub in
                for await line in lines where line.contains("nothing more is stored") { break }
                let peer = try await ScriptedPeer.connect(to: hub.server.port)
                try await peer.send("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                #expect(try await peer.readResponse().status == 503)
            }
        }

        @Test func `a directory that others could read is reported in the program's log`() async throws {
            let path = directory.path + "/log"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            try await hub(continuation).withRunning { _ in
                for await line in lines where line.contains("\(path) was open to others (0755)") { break }
            }
        }
    }
}
