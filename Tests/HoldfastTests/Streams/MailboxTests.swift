@testable import Holdfast
import HoldfastTesting
import StreamCore
import Testing
import WebSocketRuntime

@Suite(.timeLimit(.minutes(1))) struct MailboxTests {
    private typealias Numbers = Mailbox<EveryValue<Int>, WebSocketError>

    private func mailbox(capacity: Int = 64) -> Numbers { Numbers(EveryValue(capacity: capacity), time: LinkTime(ManualClock())) }

    /// Starts to take a value, and returns when the consumer waits for it.
    private func consumer(of mailbox: Numbers) async -> Task<Int?, any Error> {
        let task = Task { try await mailbox.next() }
        while mailbox.state.withLockedValue({ $0.places.isEmpty }) { await Task.yield() }
        return task
    }

    @Test func `a consumer that waits needs one call for all values that are put`() async throws {
        let mailbox = mailbox()
        let consumer = await consumer(of: mailbox)
        #expect([1, 2, 3].map { mailbox.put($0).mustCall } == [true, false, false])
        mailbox.call()
        #expect(try await consumer.value == 1)
        #expect(try await mailbox.next() == 2)
        #expect(try await mailbox.next() == 3)
    }

    @Test func `after a call, the next value needs another`() async throws {
        let mailbox = mailbox()
        for number in 1...3 {
            let consumer = await consumer(of: mailbox)
            #expect(mailbox.put(number).mustCall)
            mailbox.call()
            #expect(try await consumer.value == number)
        }
    }

    @Test func `a consumer that does not wait needs no call`() async throws {
        let mailbox = mailbox()
        #expect(!mailbox.put(1).mustCall)
        #expect(try await mailbox.next() == 1)
    }

    @Test func `a call without a value wakes nobody`() async throws {
        let mailbox = mailbox()
        let consumer = await consumer(of: mailbox)
        mailbox.call()
        #expect(mailbox.state.withLockedValue { !$0.places.isEmpty })
        mailbox.finish(.success(()))
        #expect(try await consumer.value == nil)
    }

    @Test func `the end needs no call`() async throws {
        let mailbox = mailbox()
        let consumer = await consumer(of: mailbox)
        #expect(mailbox.put(1).mustCall)
        mailbox.finish(.success(()))
        #expect(try await consumer.value == 1)
        #expect(try await mailbox.next() == nil)
    }

    @Test func `a full mailbox holds the reader until half is taken`() async throws {
        let mailbox = mailbox(capacity: 4)
        #expect((1...4).map { mailbox.put($0).isHeld } == [false, false, false, true])
        var relieved = 0
        for number in 1...4 { #expect(try await mailbox.next(relieved: { relieved += 1 }) == number) }
        #expect(relieved == 1 && !mailbox.isHeld)
    }
}
