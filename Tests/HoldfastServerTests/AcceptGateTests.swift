import Foundation
import NIOCore
import NIOEmbedded
import Testing
import WebSocketCore

@testable import HoldfastServer

/// When a server stops taking connections for want of file descriptors, and when it goes on.
@Suite struct AcceptGateTests {
    private let loop = EmbeddedEventLoop()
    private let gate: AcceptGate
    private let listener: EmbeddedChannel

    init() {
        gate = AcceptGate(most: 2)
        listener = EmbeddedChannel(handler: gate, loop: loop)
    }

    /// Whether the listener is read from; nil: the gate has said nothing yet, so it is.
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

    @Test func `a connection that ends makes room for another`() {
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
    func `what the system refuses is asked for again after a pause`(code: CInt) {
        listener.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept"))
        #expect(accepts == false)
        loop.advanceTime(by: .milliseconds(249))
        #expect(accepts == false)
        loop.advanceTime(by: .milliseconds(1))
        #expect(accepts == true)
        #expect(throws: IOError.self) { try listener.throwIfErrorCaught() }
    }

    @Test func `the pause ends, and a full server is full all the same`() {
        let first = connection()
        let second = connection()
        listener.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        close(first)
        #expect(accepts == false, "the system has just refused one")
        let third = connection()
        loop.advanceTime(by: .seconds(1))
        #expect(accepts == false, "there are two")
        close(second)
        #expect(accepts == true)
        close(third)
    }

    @Test func `other errors are no reason to stop`() {
        listener.pipeline.fireErrorCaught(IOError(errnoCode: ECONNABORTED, reason: "accept"))
        #expect(accepts == nil)
        #expect(throws: IOError.self) { try listener.throwIfErrorCaught() }
    }

    @Test func `a server takes fewer connections than there are descriptors, and no address has most of them`() {
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
