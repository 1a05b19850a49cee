import MachineCore
import RoomCore
import RoomHistory

/// Text forms of IDs, each created once, because that takes longer than the rest of a run.
struct SimNames {
    private var ids: [MessageID: String] = [:]
    private var devices: [DeviceID: String] = [:]
    private var epochs: [UInt64: String] = [:]
    private var digests: [[UInt8]: String] = [:]

    mutating func of(_ id: MessageID) -> String { Self.once(id, in: &ids) { Hexadecimal.digits($0.bits.low) } }
    mutating func of(_ device: DeviceID) -> String { Self.once(device, in: &devices) { Hexadecimal.digits($0.bits.low) } }
    mutating func of(_ epoch: UInt64) -> String { Self.once(epoch, in: &epochs) { Hexadecimal.digits($0) } }
    mutating func digest(_ payload: Payload) -> String { Self.once(payload.bytes, in: &digests) { HistoryDigest.of($0) } }

    mutating func item(_ entry: Entry) -> HistoryItem {
        HistoryItem(seq: entry.seq, id: of(entry.id), device: of(entry.device), cseq: entry.cseq, digest: digest(entry.payload))
    }

    private static func once<Key>(_ key: Key, in names: inout [Key: String], _ text: (Key) -> String) -> String {
        if let name = names[key] { return name }
        let name = text(key)
        names[key] = name
        return name
    }
}
