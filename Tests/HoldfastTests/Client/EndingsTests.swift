import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// How the app sees the end of a connection.
    @Suite struct EndingsTests {
        @Test(arguments: [1000, 1001] as [UInt16])
        func `a close with 1000 or 1001 ends the messages without an error`(code: UInt16) async throws {
            try await expectCleanEnd(CloseFrame(CloseCode(rawValue: code), reason: "bye"))
        }

        @Test func `a close frame without a code ends the messages`() async throws { try await expectCleanEnd(CloseFrame()) }

        private func expectCleanEnd(_ frame: CloseFrame) async throws {
            try await withScriptedServer { peer in
                let frames = [WireFrame.text("last"), WireFrame(.close, frame.payload)]
                try await peer.acceptUpgrade(then: frames.flatMap { $0.bytes(to: .client) })
                #expect(try await peer.readClose() == CloseFrame(frame.code))
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                try await connection.expect(.text("last"))
                try await connection.expect(nil)
                try await connection.expect(nil)
                #expect(connection.closeRecord?.received == frame)
                #expect(connection.closeRecord?.isClean == true)
                let error = await #expect(throws: WebSocketError.self) { try await connection.send(.text("too late")) }
                #expect(error?.code == .closed)
            }
        }

        @Test(
            arguments: [
                (1002, false), (1003, false), (1007, false), (1008, false), (1009, true), (1010, false), (1011, true), (1012, true),
                (1013, true), (1014, true), (3000, false), (4000, false),
            ] as [(UInt16, Bool)])
        func `any other close code is an error that carries the code`(code: UInt16, isRetryable: Bool) async throws {
            let frame = CloseFrame(CloseCode(rawValue: code), reason: "the reason")
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: WireFrame(.close, frame.payload).bytes(to: .client))
                try await peer.readClose()
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                for _ in 1...2 {
                    let error = await connection.end()
                    #expect(error?.code == .closed)
                    #expect(error?.closeRecord?.received == frame)
                    #expect(error?.isRetryable == isRetryable)
                    // The description mentions that there is a reason, but omits its text, which may contain a secret.
                    #expect(error?.description.contains("\(code)") == true && error?.description.contains("gave a reason") == true)
                    #expect(error?.description.contains("the reason") == false)
                }
            }
        }

        @Test func `messages accepted for sending leave before the close frame`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                for number in 1...100 { #expect(try await peer.readFrame() == .text("\(number)")) }
                let close = try await peer.readFrame()
                // Two calls close at once, and either may be the first.
                #expect([CloseFrame(.goingAway, reason: "done"), CloseFrame(.normal)].contains(close.closeFrame))
                try await peer.send(close, to: .client)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                for number in 1...100 { try await connection.send(.text("\(number)")) }
                async let one = connection.close(code: .goingAway, reason: "done")
                async let other = connection.close(code: .normal)
                let (first, second) = await (one, other)
                #expect(first == second && first.isClean && first.closedFirst == .local)
            }
        }

        @Test func `an aborted connection is a lost one`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                connection.abort()
                #expect(await connection.end()?.code == .lost)
                #expect(connection.closeRecord == CloseRecord())
                #expect(await connection.close() == CloseRecord())
            }
        }
    }
}
