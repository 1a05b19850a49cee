import RoomCore
import RoomsStorage

/// The stored form: ID, device, sequence number of the device and time, in 48 bytes, most significant byte first.
extension EntryStamp {
    var bytes: [UInt8] {
        [id.bits, device.bits, Bits128(high: UInt64(bitPattern: cseq), low: UInt64(bitPattern: at))].flatMap { StoredEntry.bytes(of: $0) }
    }

    /// Decodes a stored stamp; nil if there is none or it is invalid.
    init?(stored bytes: UnsafeRawBufferPointer) {
        func bits(_ place: Int) -> Bits128? {
            StoredEntry.bits(UnsafeRawBufferPointer(rebasing: bytes[place..<place + 16]))
        }
        guard bytes.count == 48, let id = bits(0), let device = bits(16), let rest = bits(32) else { return nil }
        self.init(
            id: MessageID(id), device: DeviceID(device), cseq: Int64(bitPattern: rest.high), at: Int64(bitPattern: rest.low))
    }
}
