import NIOCore
import NIOPosix
import Testing

@testable import WebSocketNIO

/// Buffers for long frames, and their reuse.
@Suite struct LongInputTests {
    private func onLoop(_ body: @escaping @Sendable (LoopLocal) -> Bool) async throws -> Bool {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        return try await loop.submit { body(LoopLease(for: loop).local) }.get()
    }

    @Test func `a lent buffer that never comes back counts as lost, and no other buffer replaces it`() async throws {
        let isLost = try await onLoop { local in
            let input = LongInput()
            input.open(ByteBuffer(repeating: 1, count: 20_000), length: 100_000)
            let isLent = input.lend(local) != nil && input.isLent
            return isLent && input.lend(local) == nil && !input.isLent && input.takeHeld() == nil
        }
        #expect(isLost)
    }

    @Test func `small buffers that come back do not displace large ones`() async throws {
        let isUsedAgain = try await onLoop { local in
            var buffer = local.takeLongInput(300_000)
            buffer.writeInteger(UInt8(1))
            let place = buffer.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
            local.give(longInput: buffer)
            buffer = ByteBuffer()
            for _ in 0..<20 { local.give(longInput: ByteBuffer()) }
            var again = local.takeLongInput(300_000)
            again.writeInteger(UInt8(1))
            return again.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } == place
        }
        #expect(isUsedAgain)
    }
}
