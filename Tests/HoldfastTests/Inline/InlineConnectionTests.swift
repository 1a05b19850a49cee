import Foundation
import Holdfast
import HoldfastServer
import NIOPosix
import ScriptedPeers
import Testing

extension SocketTests {
    /// How other code uses a connection that has an inline handler.
    @Suite struct InlineConnectionTests {
        private let log = InlineLog()

        private func connect(_ url: String, _ configuration: WebSocketConfiguration = WebSocketConfiguration()) async throws
            -> InlineConnection
        {
            let connection = try await InlineConnection.connect(to: url, configuration: configuration) { [log] in LoggedHandler.sink(log) }
            await log.expect(.opened)
            return connection
        }

        @Test func `closures passed to run run on the event loop in order`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let connection = try await connect(server.url())
                for number in 1...100 {
                    connection.run { [log] socket in
                        if MultiThreadedEventLoopGroup.currentEventLoop == nil { log.fault("not on the event loop") }
                        socket.send(.text("\(number)"))
                    }
                }
                for number in 1...100 { await log.expect(.received(.text("\(number)"))) }
                await connection.close()
            }
            #expect(log.faults == [])
        }

        @Test func `pings are answered while messages are exchanged`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let connection = try await connect(server.url())
                for number in 1...20 {
                    connection.run { $0.send(.text("\(number)")) }
                    #expect(try await connection.ping() > .zero)
                    await log.expect(.received(.text("\(number)")))
                }
                await connection.close()
                await #expect(throws: WebSocketError.self) { try await connection.ping() }
            }
            #expect(log.faults == [])
        }

        @Test func `after the end nothing runs, and every caller gets the same close record`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.answerClose(to: .client) == CloseFrame(CloseCode(rawValue: 4002), reason: "done"))
            } client: { url in
                let connection = try await connect(url)
                #expect(connection.closeRecord == nil)
                let record = await connection.close(code: CloseCode(rawValue: 4002), reason: "done")
                #expect(record.isClean && record.closedFirst == .local)
                await log.expect(.ended(record))
                #expect(await connection.close() == record)
                #expect(try await connection.ended().get() == record)
                #expect(connection.closeRecord == record)
                connection.run { [log] _ in log.fault("run after the end") }
                await log.expect(.freed)
                connection.run { [log] _ in log.fault("run after the handler is gone") }
            }
            #expect(log.faults == [])
        }

        @Test func `a server's close with an error code reaches the handler and the waiting caller`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: WireFrame.close(.internalError, reason: "broken").bytes(to: .client))
                try await peer.readClose()
            } client: { url in
                let connection = try await connect(url)
                guard case .failure(let error) = await connection.ended() else { throw ScriptedPeer.Ended() }
                #expect(error.code == .closed && error.record?.received?.code == .internalError)
                await log.expect(.failed(.closed, error.record))
            }
            await log.expect(.freed)
            #expect(log.faults == [])
        }

        @Test func `an aborted connection is a lost one for the handler too`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                let connection = try await connect(url)
                connection.abort()
                guard case .failure(let error) = await connection.ended() else { throw ScriptedPeer.Ended() }
                #expect(error.code == .lost)
                await log.expect(.failed(.lost, CloseRecord()))
                #expect(await connection.close() == CloseRecord())
            }
            await log.expect(.freed)
            #expect(log.faults == [])
        }

        @Test func `a connection that nobody references is dropped`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                _ = try await connect(url)
                guard case .failed(let code, _)? = await log.next() else { throw ScriptedPeer.Ended() }
                #expect(code == .lost)
            }
            await log.expect(.freed)
            #expect(log.faults == [])
        }

        @Test func `a protocol violation closes with its code and ends the handler`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: WireFrame.text("before").bytes(to: .client) + [0xFF])
                #expect(try await peer.readClose().code == .protocolError)
            } client: { url in
                let connection = try await connect(url)
                await log.expect(.received(.text("before")))
                guard case .failure(let error) = await connection.ended() else { throw ScriptedPeer.Ended() }
                #expect(error.code == .protocolViolation)
                await log.expect(.failed(.protocolViolation, error.record))
            }
            #expect(log.faults == [])
        }

        @Test func `no handler is made for a refused request`() async throws {
            let server = WebSocketServer { _ in
                .refuse(status: 403, "no")
            } inline: { [log] _ in
                log.fault("a handler is made")
                return LoggedHandler.sink(log)
            }
            try await server.withRunning { server in
                let error = await #expect(throws: WebSocketError.self) {
                    try await InlineConnection.connect(to: server.url()) { [log] in
                        log.fault("a handler is made")
                        return LoggedHandler.sink(log)
                    }
                }
                #expect((error?.code, error?.httpStatus) == (.refused, 403))
            }
            #expect(log.faults == [])
        }

        @Test func `a server's inline handler is made for its request and sees the agreed subprotocol`() async throws {
            let server = WebSocketServer { request in
                .accept(subprotocol: request.subprotocols.first)
            } inline: { [log] request in
                log.note("\(request.path) \(request.subprotocols) \(request.remoteAddress?.hasPrefix("127.0.0.1:") == true)")
                return LoggedHandler(log) {
                    log.note($0.agreement.subprotocol ?? "none")
                } received: { _, _, _ in
                }
            }
            try await server.withRunning { server in
                let configuration = WebSocketConfiguration.with { $0.subprotocols = ["chat", "news"] }
                let connection = try await WebSocketConnection.connect(to: server.url("/room"), configuration: configuration)
                await log.expect(.note("/room [\"chat\", \"news\"] true"))
                await log.expect(.opened)
                await log.expect(.note("chat"))
                await connection.close()
            }
            #expect(log.faults == [])
        }

        @Test(arguments: [0, 1, 125, 126, 16_384, 65_536, 1 << 20, 3 << 20])
        func `inline handlers on both sides exchange messages over TLS`(size: Int) async throws {
            let certificates = try TestCertificates.shared()
            let (count, message) = (size > 65_536 ? 5 : 100, Message.sample(.binary, size))
            let server = WebSocketServer.inline {
                let identity = certificates.identity(nil)
                $0.tls = ServerTLSOptions(certificateChainFile: identity.certificate, privateKeyFile: identity.key)
                ($0.limits.message, $0.compression) = (4 << 20, nil)
            } _: { [log] in
                LoggedHandler(log) { kind, bytes, socket in socket.send(kind, bytes) }
            }
            let client = InlineLog()
            try await server.withRunning { server in
                let configuration = WebSocketConfiguration.with {
                    ($0.limits.message, $0.tls) = (4 << 20, TLSOptions(trust: .file(certificates.authority)))
                }
                let connection = try await InlineConnection.connect(to: "wss://localhost:\(server.port)/", configuration: configuration) {
                    LoggedHandler.sink(client)
                }
                await client.expect(.opened)
                // The messages are sent one by one: two sides that both stop reading until the other one reads would block each other.
                for _ in 1...count {
                    connection.run { if !$0.send(message) { client.fault("refused") } }
                    let isSame = await client.next() == .received(message)
                    #expect(isSame)
                }
                let record = await connection.close(code: CloseCode(rawValue: 4001), reason: "done")
                #expect(record.isClean && record.received?.code == CloseCode(rawValue: 4001))
                await client.expect(.ended(record))
            }
            #expect(log.faults == [] && client.faults == [])
        }
    }
}
