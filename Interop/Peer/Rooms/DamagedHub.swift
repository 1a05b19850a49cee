import Foundation
import HoldfastHub
import HoldfastTesting
import MachineCore
import RoomCore

/// A hub's log that is written by a killed process, damaged or replaced, and opened again.
///
/// After any damage the hub returns in the reported epoch only entries that it reported.
///
/// Or it reports another epoch, an unreadable log, or that the log cannot be opened.
struct DamagedHub {
    let directory: String
    private static let room = RoomName("a")!
    private static let device = DeviceID(Bits128(high: 1, low: 1))
    private static let now: Int64 = 1_700_000_000_000
    private static let count: Int64 = 40
    private var log: String { directory + "/log" }
    private var old: String { directory + "/old" }

    /// Writes a log, part of it in the file and the rest in its journal, with older copies of both, and ends at once.
    func write() async throws {
        var log = try await SQLiteRoomLog(directory: log)
        guard case .opened(_, let head)? = await log.carryOut([.open(Self.room)]).first else { throw Violation("no room") }
        for number in 1...Self.count {
            let order = LogOrder.append(Self.room, batch: number, [.entry(Self.entry(number))])
            try demand(await log.carryOut([order]) == [.appended(Self.room, batch: number)], "\(number) was not appended")
            if number == 15 { try FileManager.default.copyItem(atPath: self.log, toPath: old) }
            if number == 25 {
                await log.close()
                log = try await SQLiteRoomLog(directory: self.log)
                try demand(log.opening.renewals.isEmpty, "new epochs without a cause: \(log.opening.renewals)")
            }
        }
        try Data(Hexadecimal.digits(head.epoch).utf8).write(to: URL(fileURLWithPath: directory + "/epoch"))
        _exit(Crash.status)
    }

    /// Opens the log again, prints the outcome, and continues with it.
    ///
    /// - Parameter wanted: The expected outcome, `kept` or `renewed`; nil: any outcome that keeps the invariants.
    func check(_ wanted: String?) async throws {
        let told = try String(contentsOfFile: directory + "/epoch", encoding: .utf8)
        var found: String
        do { found = try await outcome(told) } catch let error as RoomLogError {
            switch error {
            case .corrupt, .newer: found = "refused: \(error)"
            default: throw Violation("it is told as: \(error)")
            }
        }
        print(found)
        try demand(found.hasPrefix(wanted ?? ""), "\(wanted ?? "") was wanted")
    }

    private func outcome(_ told: String) async throws -> String {
        let log = try await SQLiteRoomLog(directory: log, checkedBytes: .max)
        let (head, found) = try await look(log, told)
        guard let head else { return found }
        // The next number is given once per epoch, whatever is found after it.
        let next = head.head + 1
        let entry = Self.entry(next, device: DeviceID(Bits128(high: 2, low: 2)), cseq: 1)
        try demand(
            await log.carryOut([.append(Self.room, batch: 1, [.entry(entry)])]) == [.appended(Self.room, batch: 1)],
            "\(next) was not appended")
        await log.close()
        let again = try await SQLiteRoomLog(directory: self.log, checkedBytes: .max)
        guard case .opened(_, let after)? = await again.carryOut([.open(Self.room)]).first else { throw Violation("no room") }
        try demand(after.epoch == head.epoch && after.head == next, "the next start finds \(after), not \(next) of \(head)")
        await again.close()
        return found
    }

    private func look(_ log: SQLiteRoomLog, _ told: String) async throws -> (LogHead?, String) {
        guard case .opened(_, let head)? = await log.carryOut([.open(Self.room)]).first else { return (nil, "unread") }
        let epoch = Hexadecimal.digits(head.epoch)
        if epoch != told { return (head, "renewed: \(log.opening.renewals.map(\.description).joined(separator: "; "))") }
        try demand(head.head == Self.count, "in epoch \(epoch) the log ends at \(head.head), \(Self.count) were told")
        let fetched = await log.carryOut([.fetchAfter(1, Self.room, seq: 0, limit: .max, bytes: .max)]).first
        guard case .fetched(1, let entries, base: 1, _)? = fetched else { return (nil, "unread") }
        try demand(entries == (1...Self.count).map { Self.entry($0) }, "what was told has changed")
        return (head, "kept")
    }

    private static func entry(_ seq: Int64, device: DeviceID = device, cseq: Int64? = nil) -> Entry {
        let payload = [UInt8](repeating: 0x30 + UInt8(seq % 10), count: Int(seq * 97 % 2900) + 1)
        return Entry(
            seq: seq, id: MessageID(Bits128(high: 0x7000, low: UInt64(seq))), device: device, cseq: cseq ?? seq, user: UserName("ann")!,
            at: now, sent: now, type: "chat.text", payload: .json(payload))
    }
}
