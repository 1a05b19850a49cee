import Foundation
import NIOCore
import NIOEmbedded
import Testing
import WebSocketCore

@testable import HoldfastServer

/// When a server stops and resumes accepting connections because of file descriptors.
@Suite struct AcceptGateTests {
    private let loop = EmbeddedEventLoop()
    private let gate: AcceptGate
    private let listener: EmbeddedChannel

    init() {
        gate = AcceptGate(most: 2)
        listener = EmbeddedChannel(handler: gate, loop: loop)
    }

    /// Whether the gate reads from the listener; nil if it has not set that yet, which means yes.
    private var accepts: Bool? {
        listener.options.last { $0.option is ChannelOptions.Types.AutoReadOption }?.value as? Bool
    }

    private func connection() -> EmbeddedChannel {
        let connection = EmbeddedChannel(loop: loop)
        gate.count(connection)
        return connection
    }

    private func close(_ connection: EmbeddedChannel) {
        connection.close(promise: nil)
        loop.run()
    }

    @Test func `a closed connection makes room for another`() {
        let first = connection()
        #expect(accepts == nil)
        let second = connection()
        #expect(accepts == false)
        close(first)
        #expect(accepts == true)
        let third = connection()
        #expect(accepts == false)
        close(second)
        close(third)
        #expect(accepts == true)
    }

    @Test(arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM])
    func `accepting resumes after a pause when the system refused a connection`(code: CInt) {
        listener.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept"))
        #expect(accepts == false)
        loop.advanceTime(by: .milliseconds(249))
        #expect(accepts == false)
        loop.advanceTime(by: .milliseconds(1))
        #expect(accepts == true)
        #expect(throws: IOError.self) { try listener.throwIfErrorCaught() }
    }

    @Test func `after the pause a full server still accepts no connection`() {
        let first = connection()
        let second = connection()
        listener.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        close(first)
        #expect(accepts == false, "the system has just refused a connection")
        let third = connection()
        loop.advanceTime(by: .seconds(1))
        #expect(accepts == false, "there are two connections")
        close(second)
        #expect(accepts == true)
        close(third)
    }

    @Test func `other errors do not stop accepting`() {
        listener.pipeline.fireErrorCaught(IOError(errnoCode: ECONNABORTED, reason: "accept"))
        #expect(accepts == nil)
        #expect(throws: IOError.self) { try listener.throwIfErrorCaught() }
    }

    @Test func `the number of connections is below that of descriptors, and no address has most of them`() {
        func places(_ descriptors: Int, most: Int = 10_000, perAddress: Int? = 2100, http2: Bool = false) -> [Int?] {
            var configuration = WebSocketServerConfiguration()
            (configuration.maximumConnections, configuration.maximumConnectionsPerAddress) = (most, perAddress)
            if http2 { configuration.httpVersion = .automatic }
            let registry = ChannelRegistry(configuration, descriptors: descriptors)
            return [registry.capacity, registry.perAddress]
        }
        #expect(places(960) == [704, 352])
        #expect(places(64) == [32, 16])
        #expect(places(1) == [1, 1])
        #expect(places(960, most: 10, perAddress: 5) == [10, 5])
        #expect(places(960, perAddress: nil) == [704, nil], "behind a proxy all have one address")
        #expect(places(960, http2: true) == [10_000, 352], "a stream has no descriptor")
        #expect(places(20_000, perAddress: 50_000) == [10_000, 18_720])
        #expect(places(.max) == [10_000, 2100])
    }
}
