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
        func `whatever carries a secret, nobody but the server learns of it`(_ carrier: SecretCarrier, _ logsPayloads: Bool) async throws {
            let (ear, secret) = (SecretEar(), Self.secret)
            let server = RudeServer(carrier: carrier, secret: secret)
            try await withScriptedServer(server.serve) { url in
                var options = WebSocketOptions()
                let place = try carrier.prepare(&options, secret, at: url)
                options.sending = SendPolicy(
                    whileDisconnected: .queue, capacity: SendVolume(count: 1, bytes: 1 << 20), overflow: .dropOldest)
                (options.reconnect.backoff.base, options.reconnect.backoff.minimum) = (.milliseconds(2), .milliseconds(1))
                options.reconnect.spacing = .zero
                for cause in [
                    LossCause.invalidHandshake, .invalidConfiguration, .refused(status: 302), .refused(status: 401), .refused(status: 407),
                ] { options.reconnect.losses[cause] = .retry }
                options.connection.redirects = RedirectPolicy()
                ear.watch(&options, logsPayloads: logsPayloads)
                let socket = WebSocket(place) { $0 = options }
                ear.handle(socket)
                for message in [carrier.login(secret), carrier.login(inBytes: secret), carrier.login(secret)] {
                    do throws(WebSocketError) { try await socket.send(message) } catch { ear.handle(error) }
                }
                for await event in socket.events {
                    // What a message carries that nothing announces as a secret is the app's to show or not.
                    if case .message(.text(let text)) = event, text.hasPrefix("you are") { continue }
                    ear.handle(event)
                    ear.handle(socket.state)
                    ear.handle(socket)
                }
                ear.handle(socket.statistics)
            }
            #expect(ear.leaks(of: secret) == [])
            // The test has heard what it was to hear.
            let (count, wasTold) = server.asked.withLockedValue(\.self)
            #expect(count == 8 && wasTold)
            #expect(ear.sight.tracer.finishedSpans.count == 8)
            #expect(ear.everything.contains { $0.contains("closed with 1011") })
            #expect(ear.everything.contains { $0.hasPrefix("dropped: ") })
            #expect(ear.sight.log.contains("debug: message received") == logsPayloads)
            #expect(ear.sight.log.contains("debug: message sent") == logsPayloads)
        }

        @Test(arguments: [SecretWay.ticket, .cra, .scram], [false, true])
        func `no proof of WAMP is told, be it taken or not`(_ way: SecretWay, _ logsPayloads: Bool) async throws {
            let (ear, secret) = (SecretEar(), Self.secret)
            var users = WAMPUsers()
            users.add("ann", try way.proof(of: secret))
            users.add("bob", try way.proof(of: "another"))
            var configuration = WAMPRouterConfiguration(policy: RouterPolicy(realms: ["realm1"]))
            (configuration.authenticator, configuration.logger) = (users, ear.logger)
            configuration.server.port = 0
            try await WAMPRouter(configuration).withRunning { server in
                for user in ["ann", "bob"] {
                    var options = WAMPOptions()
                    (options.logger, options.logsPayloads) = (ear.logger, logsPayloads)
                    let authentication = way.authentication(user, secret)
                    ear.handle(authentication)
                    ear.handle(options)
                    let wamp = WAMPClient(server.url("/ws"), realm: "realm1", authentication: authentication, options: options) {
                        ear.watch(&$0, logsPayloads: logsPayloads)
                    }
                    do throws(WAMPError) {
                        ear.handle(try await wamp.joined(within: .seconds(20)))
                        #expect(user == "ann")
                        _ = try await wamp.call("com.app.login", [], keywords: ["password": .text(secret)])
                        Issue.record("nobody offers this")
                    } catch {
                        ear.handle(error)
                        if let underlying = error.underlying { ear.handle(underlying) }
                        #expect(error.code == (user == "ann" ? .refused : .dismissed))
                    }
                    ear.handle(wamp)
                    ear.handle(wamp.state)
                    await wamp.close()
                }
            }
            #expect(ear.leaks(of: secret) == [])
            let words = ear.sight.log
            #expect(words.contains { $0.hasPrefix("debug: → AUTHENTICATE") } && words.contains { $0.hasPrefix("debug: ← ABORT") })
            #expect(words.contains { $0.hasPrefix("debug: → CALL") && $0.contains("<hidden>") } == logsPayloads)
            #expect(words.contains("debug: message sent") == logsPayloads)
        }

        @Test(arguments: RoomsEncoding.allCases, [false, true])
        func `no token of a hub is told, be it taken or not`(_ encoding: RoomsEncoding, _ logsPayloads: Bool) async throws {
            let (ear, secret) = (SecretEar(), Self.secret)
            let data = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-secret-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: data) }
            for isTaken in [true, false] {
                var configuration = HubConfiguration(data: data)
                configuration.authority = OneToken(token: isTaken ? secret : "another")
                configuration.logger = ear.logger
                configuration.server.port = 0
                try await Hub(configuration).withRunning { hub in
                    let rooms = Rooms(hub.url, store: MemoryRoomStore(), token: { secret }) {
                        RoomsOptions.prepare(&$0, [encoding])
                        ear.watch(&$0, logsPayloads: logsPayloads)
                    }
                    do throws(RoomsError) {
                        let room = try await rooms.join("abc")
                        try await rooms.whenOnline(within: .seconds(20))
                        #expect(isTaken)
                        ear.handle(room)
                    } catch {
                        #expect(!isTaken)
                        ear.handle(error)
                    }
                    ear.handle(rooms)
                    ear.handle(rooms.state)
                    await rooms.close()
                }
            }
            #expect(ear.leaks(of: secret) == [])
            #expect(ear.sight.log.contains("debug: message sent") == logsPayloads)
        }
    }
}

/// A way of WAMP to prove who one is.
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

/// Takes one token, and repeats any other.
private struct OneToken: HubAuthority {
    let token: String

    func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
        guard token == self.token, let user = UserName("ann") else { throw TokenRefusal(.malformed, "there is no user \(token ?? "")") }
        return Identity(user: user, grants: [Grant("*", .member)], expires: nil)
    }
}
