import Foundation

/// Examines the part of SQLite's write-ahead log behind its valid end: https://sqlite.org/walformat.html.
///
/// SQLite stops at the first wrong checksum, which marks the end, and does not report what comes after it.
enum JournalEnd {
    private static let page = 4096
    private static let head = 32
    private static let frameHead = 24

    /// Counts the transactions in a journal after the last one that SQLite recovers.
    ///
    /// A power cut during a commit may also leave such a transaction, although it was never acknowledged.
    static func lostTransactions(in path: String) -> Int {
        guard let journal = FileHandle(forReadingAtPath: path) else { return 0 }
        defer { try? journal.close() }
        guard let bytes = try? journal.read(upToCount: head), bytes.count == head else { return 0 }
        let isBig = bytes[3] & 1 == 1
        var sums = Sums()
        bytes.withUnsafeBytes { sums.add($0, upTo: 24, isBig: isBig) }
        var isIntact = bytes.withUnsafeBytes { sums.isWritten(in: $0, at: 24) }
        // If the header is damaged, the frames' own salts identify their generation.
        var salts: Data? = isIntact ? Data(bytes[16..<24]) : nil
        var count = 0
        while let frame = try? journal.read(upToCount: frameHead + page), frame.count == frameHead + page {
            let own = Data(frame[8..<16])
            if isIntact, own == salts {
                frame.withUnsafeBytes {
                    sums.add($0, upTo: 8, isBig: isBig)
                    sums.add(UnsafeRawBufferPointer(rebasing: $0[frameHead...]), upTo: page, isBig: isBig)
                    isIntact = sums.isWritten(in: $0, at: 16) && frame[0..<4].contains { $0 != 0 }
                }
                if isIntact { continue }
            }
            isIntact = false
            if salts == nil { salts = own }
            // The last frame of a transaction contains the size of the file after it.
            if own == salts, frame[4..<8].contains(where: { $0 != 0 }) { count += 1 }
        }
        return count
    }

    /// The checksum of everything before, in the byte order of the header.
    private struct Sums {
        private var (first, second): (UInt32, UInt32) = (0, 0)

        mutating func add(_ bytes: UnsafeRawBufferPointer, upTo end: Int, isBig: Bool) {
            var (first, second) = (first, second)
            for place in stride(from: 0, to: end, by: 8) {
                let one = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let other = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                first &+= (isBig ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
                second &+= (isBig ? UInt32(bigEndian: other) : UInt32(littleEndian: other)) &+ first
            }
            (self.first, self.second) = (first, second)
        }

        func isWritten(in bytes: UnsafeRawBufferPointer, at place: Int) -> Bool {
            first == UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
                && second == UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self))
        }
    }
}
