import RoomCore
import RoomsStorage

/// How it is stored: its name, its device, its number there and its time, in 48 bytes, most significant first.
extension EntryStamp {
    var bytes: [UInt8] {
        [id.bits, device.bits, Bits128(high: UInt64(bitPattern: cseq), low: UInt64(bitPattern: at))].flatMap { StoredEntry.bytes(of: $0) }
    }

    /// Nil if nothing is stored, or something else.
    init?(stored bytes: UnsafeRawBufferPointer) {
        func bits(_ place: Int) -> Bits128? {
            StoredEntry.bits(UnsafeRawBufferPointer(rebasing: bytes[place..<place + 16]))
        }
        guard bytes.count == 48, let id = bits(0), let device = bits(16), let rest = bits(32) else { return nil }
        self.init(
            id: MessageID(id), device: DeviceID(device), cseq: Int64(bitPattern: rest.high), at: Int64(bitPattern: rest.low))
    }
}
