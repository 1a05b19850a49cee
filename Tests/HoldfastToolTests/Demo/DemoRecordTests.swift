import HoldfastRooms
import RoomCore
import Testing

@testable import HoldfastTool

@Suite struct DemoLedgerTests {
    private func id(_ number: UInt64) -> MessageID { MessageID(Bits128(high: 0x7000, low: 1 << 63 | number)) }

    private func entry(_ seq: Int64, _ number: UInt64, _ text: String) throws -> Entry {
        Entry(
            seq: seq, id: id(number), device: try #require(DeviceID(String(repeating: "a", count: 32))), cseq: seq,
            user: try #require(UserName("ann")), at: 0, sent: 0, type: ChatText.typeName,
            payload: .json(Array(#"{"text":"\#(text)"}"#.utf8)))
    }

    /// Two messages that have arrived everywhere.
    private func whole() throws -> DemoRecord {
        var ledger = DemoRecord()
        ledger.sent(id(1), "one", by: "ann")
        ledger.sent(id(2), "two", by: "bob")
        ledger.log = [try entry(1, 1, "one"), try entry(2, 2, "two")]
        ledger.stores = ["ann": ledger.log, "bob": ledger.log]
        ledger.shown = ["ann": [id(1), id(2)], "bob": [id(1), id(2)]]
        return ledger
    }

    @Test func `the promise is kept when everything arrived once, everywhere, in one order`() throws {
        let ledger = try whole()
        #expect(ledger.keepsPromise(messages: 2, clients: 2))
        #expect(ledger.summary == "sent 2, stored 2, delivered 2, lost 0, doubled 0")
        #expect(!ledger.keepsPromise(messages: 3, clients: 2))
        #expect(!ledger.keepsPromise(messages: 2, clients: 3))
    }

    @Test func `a message that is missing somewhere is lost`() throws {
        var ledger = try whole()
        ledger.stores["bob"]?.removeLast()
        #expect(ledger.deliveredCount == 1 && ledger.lostCount == 1 && !ledger.keepsPromise(messages: 2, clients: 2))
        ledger = try whole()
        ledger.log.removeFirst()
        #expect(ledger.storedCount == 1 && ledger.lostCount == 1 && !ledger.keepsPromise(messages: 2, clients: 2))
        ledger = try whole()
        ledger.shown["ann"] = [id(2)]
        #expect(ledger.lostCount == 1 && !ledger.keepsPromise(messages: 2, clients: 2))
    }

    @Test func `a message that is anywhere twice is doubled`() throws {
        var ledger = try whole()
        ledger.log.append(try entry(3, 1, "one"))
        #expect(ledger.doubledCount == 1 && !ledger.keepsPromise(messages: 2, clients: 2))
        ledger = try whole()
        ledger.shown["bob"]?.append(id(2))
        #expect(ledger.doubledCount == 1 && !ledger.keepsPromise(messages: 2, clients: 2))
    }

    @Test func `another order or other words break the promise`() throws {
        var ledger = try whole()
        ledger.shown["ann"]?.reverse()
        #expect(!ledger.isInOneOrder && !ledger.keepsPromise(messages: 2, clients: 2))
        ledger = try whole()
        ledger.log[0] = try entry(1, 1, "won")
        #expect(ledger.storedCount == 1 && !ledger.keepsPromise(messages: 2, clients: 2))
    }
}
