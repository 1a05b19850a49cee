import SessionCore
import Testing

@Suite struct WriteLogTests {
    @Test func `the socket's progress marks every message up to it as written`() {
        var log = WriteLog()
        #expect((1...3).map { _ in log.take() } == [1, 2, 3])
        log.write(through: 2)
        #expect((1...3).map(log.outcome) == [.written, .written, nil])
        #expect(log.isPending)
        log.write(through: 3)
        #expect(!log.isPending)
    }

    @Test func `messages that a dead connection took but did not write are unknown`() {
        var log = WriteLog()
        _ = (log.take(), log.take())
        log.write(through: 1)
        log.end()
        #expect((1...2).map(log.outcome) == [.written, .unknown])
        #expect(!log.isPending)
    }

    @Test func `a dead connection takes no messages`() {
        var log = WriteLog()
        log.end()
        #expect(log.take() == nil)
        #expect(log.taken == 0)
    }

    @Test func `an outcome does not change when late progress arrives`() {
        var log = WriteLog()
        _ = (log.take(), log.take(), log.take())
        log.write(through: 2)
        log.write(through: 1)
        #expect(log.written == 2)
        log.end()
        log.write(through: 3)
        #expect(log.outcome(of: 3) == .unknown)
    }

    @Test func `only taken messages are marked as written`() {
        var log = WriteLog()
        _ = log.take()
        log.write(through: 5)
        #expect(log.written == 1)
        _ = log.take()
        #expect(log.outcome(of: 2) == nil)
    }
}
