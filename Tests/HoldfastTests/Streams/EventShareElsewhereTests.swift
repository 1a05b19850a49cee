import Holdfast
import Testing

/// The rules for consumers that get messages in another way, without tasks.
struct EventShareElsewhereTests {
    typealias Share = EventShare<Int>
    private var share = Share()

    private var mayRead: Bool {
        mutating get {
            let consumer = share.pump ?? share.newConsumer()
            guard case .read = share.askToRead(consumer) else {
                share.forget(consumer)
                return false
            }
            share.release(consumer)
            return true
        }
    }

    @Test mutating func `a pump reads for such a consumer, and the share delivers nothing to it`() {
        let (consumer, rest) = share.subscribeElsewhere()
        #expect(rest.isEmpty)
        let pump = share.pump
        #expect(pump != nil && pump != consumer)
        guard case .read = share.askToRead(pump!) else { return #expect(Bool(false)) }
        #expect(share.deliver(1, .message, by: pump!) == false)
        #expect(share.isElsewhere)
        share.leave(consumer)
        #expect(share.pump == nil && !share.isElsewhere)
        // The event was consumed, so the next consumer does not get it.
        guard case .read = share.take(share.subscribe(.suspend(), .everything)) else { return #expect(Bool(false)) }
    }

    @Test mutating func `such a consumer gets the events that waited for the next consumer`() {
        let reader = share.newConsumer()
        for event in 1...3 {
            guard case .read = share.askToRead(reader) else { return #expect(Bool(false)) }
            _ = share.deliver(event, .message, by: reader)
        }
        #expect(share.subscribeElsewhere().rest == [1, 2, 3])
        #expect(share.subscribeElsewhere().rest.isEmpty)
    }

    @Test mutating func `reading stops while any of them is full, and the pump is called when none is`() {
        let (one, other) = (share.subscribeElsewhere().consumer, share.subscribeElsewhere().consumer)
        #expect(mayRead)
        share.hold(one, true)
        share.hold(other, true)
        guard case .wait = share.askToRead(share.pump!) else { return #expect(Bool(false)) }
        share.hold(one, false)
        #expect(share.takeCalls().isEmpty)
        share.hold(other, false)
        #expect(share.takeCalls() == [share.pump!])
    }

    @Test mutating func `a full consumer that leaves does not block the others`() {
        let (one, _) = (share.subscribeElsewhere().consumer, share.subscribeElsewhere().consumer)
        share.hold(one, true)
        guard case .wait = share.askToRead(share.pump!) else { return #expect(Bool(false)) }
        share.leave(one)
        #expect(share.takeCalls() == [share.pump!])
        // The consumer has left, so this has no effect.
        share.hold(one, true)
        #expect(mayRead)
    }

    @Test mutating func `reading pauses until the last event was delivered elsewhere`() {
        _ = share.subscribeElsewhere()
        let pump = share.pump!
        guard case .read = share.askToRead(pump) else { return #expect(Bool(false)) }
        _ = share.deliver(1, .message, by: pump, staysReader: true)
        guard case .wait = share.askToRead(share.newConsumer()) else { return #expect(Bool(false)) }
        guard case .wait = share.askToRead(pump) else { return #expect(Bool(false)) }
        share.release(pump)
        #expect(share.takeCalls() == [pump])
    }
}
