import NIOCore
import NIOEmbedded
import Testing

@testable import HoldfastTesting

/// A relay between two channels in memory, on a loop whose time the test moves.
@Suite final class RelayHandlerTests: RelayPair {
    private func read(_ text: String) throws { try near.writeInbound(ByteBuffer(string: text)) }
    private func written() throws -> String? { try far.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) } }
    private func stall(_ isStalled: Bool) {
        conditions.change { $0.isStalled = isStalled }
        loop.run()
    }

    @Test func `bytes read on one side are written on the other, in both directions`() throws {
        try read("there")
        try far.writeInbound(ByteBuffer(string: "back"))
        #expect(try written() == "there")
        #expect(try near.readOutbound(as: ByteBuffer.self) == ByteBuffer(string: "back"))
        #expect(nearCalls.reads >= 2 && farCalls.reads >= 2, "the relay reads on")
    }

    @Test func `the relay stops reading when the other side is not writable`() throws {
        far.isWritable = false
        let chunk = String(repeating: "x", count: 64 * 1024)
        for _ in 1...4 { try read(chunk) }
        let reads = nearCalls.reads
        try read(chunk)
        #expect(nearCalls.reads == reads, "256 KiB wait, so the relay stops reading")
        #expect(try written() == nil)
        far.isWritable = true
        far.pipeline.fireChannelWritabilityChanged()
        for _ in 1...5 { #expect(try written() == chunk) }
        #expect(nearCalls.reads > reads)
    }

    @Test func `latency delays all bytes, and the order is kept when it changes`() throws {
        conditions.change { $0.delay = .milliseconds(80) ... .milliseconds(80) }
        try read("1")
        loop.advanceTime(by: .milliseconds(50))
        conditions.change { $0.delay = .zero ... .zero }
        try read("2")
        #expect(try written() == nil)
        loop.advanceTime(by: .milliseconds(29))
        #expect(try written() == nil)
        loop.advanceTime(by: .milliseconds(1))
        #expect(try written() == "1")
        #expect(try written() == "2")
    }

    @Test func `a stalled link passes nothing, and does not pass on a close`() throws {
        stall(true)
        try read("1")
        near.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        let reads = nearCalls.reads
        try read("2")
        near.close(promise: nil)
        loop.run()
        #expect(try written() == nil)
        #expect(farCalls.closes.isEmpty && nearCalls.reads == reads)
        stall(false)
        #expect(try written() == "1")
        #expect(farCalls.closes == [.output, .all])
    }

    @Test func `the end of one direction ends only that direction, after the bytes before it`() throws {
        conditions.change { $0.delay = .milliseconds(10) ... .milliseconds(10) }
        try read("1")
        near.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(farCalls.closes.isEmpty)
        loop.advanceTime(by: .milliseconds(10))
        #expect(try written() == "1")
        #expect(farCalls.closes == [.output] && nearCalls.closes.isEmpty)
        try far.writeInbound(ByteBuffer(string: "back"))
        loop.advanceTime(by: .milliseconds(10))
        #expect(try near.readOutbound(as: ByteBuffer.self) == ByteBuffer(string: "back"))
    }

    @Test func `when one side closes, the relay closes the other`() throws {
        try read("last words")
        near.close(promise: nil)
        loop.run()
        #expect(try written() == "last words")
        #expect(farCalls.closes == [.all])
    }

    @Test func `a stalled link that is cut is released`() throws {
        weak let trace = try near.pipeline.syncOperations.handler(type: RelayHandler.self)
        #expect(trace != nil)
        stall(true)
        try read("lost")
        near.close(promise: nil)
        far.close(promise: nil)
        loop.run()
        #expect(trace == nil)
    }
}
