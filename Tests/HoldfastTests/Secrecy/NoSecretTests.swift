import Foundation
import Holdfast
import HoldfastHub
import HoldfastRooms
import HoldfastRouter
import HoldfastWAMP
import InMemoryTracing
import WebSocketRuntime
import RoomCore
import RoomsWire
import ScriptedPeers
import Testing

extension SocketTests {
    /// Nothing derived from a credential is in a description, a dump, a log, a metric or a span.
    @Suite struct NoSecretTests {
        private static let secret = "s3same+0pen-sesame"

        @Test(arguments: SecretCarrier.allCases, [false, true])
        func `only the server sees a secret, whatever carries it`(_ carrier: SecretCarrier, _ logsPayloads: Bool) async throws {
            let (recorder, secret) = (SecretEar(), Self.secret)
            let server = RudeServer(carrier: carrier, secret: secret)
            try await withScriptedServer(server.serve) { url in
                var options = WebSocketOptions()
                let address = try carrier.prepare(&options, secret, at: url)
                options.sending = SendPolicy(
                    whileDisconnected: .queue, capacity: SendVolume(count: 1, bytes: 1 << 20), overflow: .dropOldest)
                (options.reconnect.backoff.base, options.reconnect.backoff.minimum) = (.milliseconds(2), .milliseconds(1))
                options.reconnect.spacing = .zero
                for cause in [
                    LossCause.invalidHandshake, .invalidConfiguration, .refused(status: 302), .refused(status: 401), .refused(status: 407),
                ] { options.reconnect.losses[cause] = .retry }
                options.connection.redirects = RedirectPolicy()
                recorder.watch(&options, logsPayloads: logsPayloads)
                let socket = WebSocket(address) { $0 = options }
                recorder.handle(socket)
                for message in [carrier.login(secret), carrier.login(inBytes: secret), carrier.login(secret)] {
                    do throws(WebSocketError) { try await socket.send(message) } catch { recorder.handle(error) }
                }
                for await event in socket.events {
                    // The app decides whether to show the content of a message that nothing marks as a secret.
                    if case .message(.text(let text)) = event, text.hasPrefix("you are") { continue }
                    recorder.handle(event)
                    recorder.handle(socket.state)
                    recorder.handle(socket)
                }
                recorder.handle(socket.statistics)
            }
            #expect(recorder.leaks(of: secret) == [])
            // The server went through all its turns and saw the secret.
            let (count, sawSecret) = server.requests.withLockedValue(\.self)
            #expect(count == 8 && sawSecret)
            #expect(recorder.sight.tracer.finishedSpans.count == 8)
            #expect(recorder.everything.contains { $0.contains("closed with 1011") })
            #expect(recorder.everything.contains { $0.hasPrefix("dropped: ") })
            #expect(recorder.sight.log.contains("debug: message received") == logsPayloads)
            #expect(recorder.sight.log.contains("debug: message sent") == logsPayloads)
        }

        @Test(arguments: [SecretWay.ticket, .cra, .scram], [false, true])
        func `no secret of a WAMP login is recorded, whether it is accepted or not`(_ way: SecretWay, _ logsPayloads: Bool) async throws {
            let (recorder, secret) = (SecretEar(), Self.secret)
            var users = WAMPUsers()
            users.add("ann", try way.proof(of: secret))
            users.add("bob", try way.proof(of: "another"))
            var configuration = WAMPRouterConfiguration(policy: RouterPolicy(realms: ["realm1"]))
            (configuration.authenticator, configuration.logger) = (users, recorder.logger)
            configuration.server.port = 0
            try await WAMPRouter(configuration).withRunning { server in
                for user in ["ann", "bob"] {
                    var options = WAMPOptions()
                    (options.logger, options.logsPayloads) = (recorder.logger, logsPayloads)
                    let authentication = way.authentication(user, secret)
                    recorder.handle(authentication)
                    recorder.handle(options)
                    let wamp = WAMPClient(server.url("/ws"), realm: "realm1", authentication: authentication, options: options) {
                        recorder.watch(&$0, logsPayloads: logsPayloads)
                    }
                    do throws(WAMPError) {
                        recorder.handle(try await wamp.joined(within: .seconds(20)))
                        #expect(user == "ann")
                        _ = try await wamp.call("com.app.login", [], keywords: ["password": .text(secret)])
                        Issue.record("no procedure has this name")
                    } catch {
                        recorder.handle(error)
                        if let underlying = error.underlying { recorder.handle(underlying) }
                        #expect(error.code == (user == "ann" ? .refused : .dismissed))
                    }
                    recorder.handle(wamp)
                    recorder.handle(wamp.state)
                    await wamp.close()
                }
            }
            #expect(recorder.leaks(of: secret) == [])
            let lines = recorder.sight.log
            #expect(lines.contains { $0.hasPrefix("debug: → AUTHENTICATE") } && lines.contains { $0.hasPrefix("debug: ← ABORT") })
            #expect(lines.contains { $0.hasPrefix("debug: → CALL") && $0.contains("<hidden>") } == logsPayloads)
            #expect(lines.contains("debug: message sent") == logsPayloads)
        }

        @Test(arguments: RoomsEncoding.allCases, [false, true])
        func `no token of a hub is recorded, whether it is accepted or not`(_ encoding: RoomsEncoding, _ logsPayloads: Bool) async throws {
            let (recorder, secret) = (SecretEar(), Self.secret)
            let data = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-secret-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: data) }
            for isAccepted in [true, false] {
                var configuration = HubConfiguration(data: data)
                configuration.authority = OneToken(token: isAccepted ? secret : "another")
                configuration.logger = recorder.logger
                configuration.server.port = 0
                try await Hub(configuration).withRunning { hub in
                    let rooms = Rooms(hub.url, store: MemoryRoomStore(), token: { secret }) {
                        RoomsOptions.prepare(&$0, [encoding])
                        recorder.watch(&$0, logsPayloads: logsPayloads)
                    }
                    do throws(RoomsError) {
                        let room = try await rooms.join("abc")
                        try await rooms.whenOnline(within: .seconds(20))
                        #expect(isAccepted)
                        recorder.handle(room)
                    } catch {
                        #expect(!isAccepted)
                        recorder.handle(error)
                    }
                    recorder.handle(rooms)
                    recorder.handle(rooms.state)
                    await rooms.close()
                }
            }
            #expect(recorder.leaks(of: secret) == [])
            #expect(recorder.sight.log.contains("debug: message sent") == logsPayloads)
        }
    }
}

/// A WAMP authentication method.
enum SecretWay: String, Sendable, CustomTestStringConvertible {
    case ticket, cra, scram

    var testDescription: String { rawValue }

    func authentication(_ user: String, _ secret: String) -> WAMPAuthentication {
        switch self {
        case .ticket: .ticket(user: user, ticket: secret)
        case .cra: .cra(user: user, secret: secret)
        case .scram: .scram(user: user, password: secret)
        }
    }

    func proof(of secret: String) throws -> WAMPUsers.Proof {
        switch self {
        case .ticket: .ticket(secret)
        case .cra: .cra(CRASecret(secret))
        case .scram: .scram(try ScramKeys(password: secret, dialect: .crossbar, hash: .pbkdf2(iterations: 4096)))
        }
    }
}

/// Accepts one token; repeats any other one in its refusal.
private struct OneToken: HubAuthority {
    let token: String

    func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
        guard token == self.token, let user = UserName("ann") else { throw TokenRefusal(.malformed, "there is no user \(token ?? "")") }
        return Identity(user: user, grants: [Grant("*", .member)], expires: nil)
    }
}
