import Foundation
import HoldfastRooms
import WebSocketRuntime

/// How far a room was printed, in a file beside its store: that may have received more when its program ends.
final class PrintedMark {
    private let file: FileHandle
    /// The last entry that was printed; nil: none was.
    private(set) var position: LogPosition?

    /// Opens the mark of a room, or makes one.
    ///
    /// - Parameter store: The directory of the store.
    init(store: String, room: RoomName) throws {
        // A name of any text, as one of a file.
        let name = Data(room.text.utf8).base64EncodedString().replacing("/", with: "_")
        let path = store + "/printed-" + name
        // Which room somebody reads is nobody else's business, whatever the umask.
        do throws(Disk.Failure) {
            file = FileHandle(fileDescriptor: try Disk.openFile(path), closeOnDealloc: true)
        } catch {
            throw RoomStoreError.failed("\(path) is no file of ours: \(error.text)")
        }
        let numbers = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        if numbers.count == 2, let seq = Int64(numbers[0]), let epoch = UInt64(numbers[1]) {
            position = LogPosition(epoch: epoch, seq: seq)
        }
    }

    /// Takes down that an entry was printed.
    ///
    /// Always as many bytes, written at once, so that there is never half of it; after a loss of power an older one may stand there, and
    /// what follows it is printed again.
    func note(_ position: LogPosition) throws {
        self.position = position
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data("\(Self.padded(position.seq)) \(Self.padded(position.epoch))\n".utf8))
    }

    private static func padded(_ number: some BinaryInteger) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 20 - digits.count)) + digits
    }
}
