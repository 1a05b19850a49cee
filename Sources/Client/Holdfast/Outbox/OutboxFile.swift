import Foundation
import WebSocketCore
import WebSocketRuntime

/// The file of an outbox: one line of JSON for each added message, and one for each finished message.
///
/// A line without its end is left over from a crash, and is cut off. The file is rewritten when most of its messages are finished. The actor
/// runs on its own thread, because disks can be slow.
actor OutboxFile<ID: Codable & Hashable & Sendable> {
    typealias Stored = (serial: UInt64, id: ID, message: Message)

    /// A line of the file: with an id, the message with this number was added; without, it is finished.
    private struct Line: Codable {
        var n: UInt64
        var id: ID?
        var text: String?
        var binary: Data?

        var stored: Stored? {
            guard let id else { return nil }
            if let text { return (n, id, .text(text)) }
            return binary.map { (n, id, .binary($0)) }
        }
    }
    /// The file size in bytes up to which the file is never rewritten.
    private static var smallest: Int { 64 << 10 }

    private let queue = BlockingQueue("holdfast.outbox")
    private let path: String
    private let lock: FileLock
    private var file: FileHandle
    private var size = 0
    /// The lines of unfinished messages, and their total size in bytes.
    private var lines: [UInt64: Data] = [:]
    private var lineBytes = 0
    /// The lines of finished messages that could not be written yet.
    private var unwritten = Data()

    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    /// Opens the file, or creates one that only its owner may use.
    init(_ path: String) throws(OutboxError) {
        self.path = path
        do throws(FileLock.Failure) { lock = try FileLock(path + ".lock") } catch {
            switch error {
            case .held: throw .inUse(path)
            case .system(let number): throw .storage("\(path).lock: \(Disk.Failure(number: number).text)")
            }
        }
        file = try Self.open(path)
        // Not every file system supports this. Then the contents are safe, but the file's name reaches the disk later.
        try? Disk.syncName(of: path)
    }

    /// Returns the unfinished messages in the order in which they were added; call it once, before all other methods.
    ///
    /// A damaged file is left unchanged.
    func load() throws(OutboxError) -> [Stored] {
        var bytes = Data()
        do { bytes = try file.readToEnd() ?? Data() } catch { throw failure(error) }
        let end = bytes.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let content = bytes.prefix(end).split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
        var stored: [UInt64: Stored] = [:]
        for (number, line) in content.enumerated() {
            let entry = try? JSONDecoder().decode(Line.self, from: line)
            guard let entry, entry.id == nil || entry.stored != nil else { throw .damaged(path, line: number + 1) }
            stored[entry.n] = entry.stored
            keep(entry.id == nil ? nil : line + [0x0A], as: entry.n)
        }
        guard Self.isBegun(bytes.suffix(from: end)) else { throw .damaged(path, line: content.count + 1) }
        size = end
        if size < bytes.count { try cut() }
        do { try file.seekToEnd() } catch { throw failure(error) }
        return newest(stored.values.sorted { $0.serial < $1.serial })
    }

    /// Returns whether the rest is what a crash leaves of a line: its beginning, or zeros in its place.
    private static func isBegun(_ tail: Data) -> Bool {
        // Keys are sorted, so a line begins with one of these.
        let starts = ["{\"binary\":", "{\"id\":", "{\"n\":"].map { Data($0.utf8) }
        return tail.allSatisfy { $0 == 0 } || starts.contains { $0.starts(with: tail.prefix($0.count)) }
    }

    /// Keeps the later one of two messages with the same id: it was added after the earlier one had finished, and only the file did not know.
    private func newest(_ stored: [Stored]) -> [Stored] {
        var serials: [ID: UInt64] = [:]
        for (serial, id, _) in stored {
            if let earlier = serials.updateValue(serial, forKey: id) { remove(earlier) }
        }
        return stored.filter { serials[$0.id] == $0.serial }
    }

    /// Stores a message; it is on disk when this returns.
    func add(_ stored: Stored) throws(OutboxError) {
        var line = Line(n: stored.serial, id: stored.id)
        switch stored.message {
        case .text(let text): line.text = text
        case .binary(let bytes): line.binary = Data(bytes)
        }
        let data = try encode(line)
        try append(data, andSync: true)
        keep(data, as: stored.serial)
    }

    /// Records that a message is finished; if a crash loses this record, the message is sent once more.
    func remove(_ serial: UInt64) {
        keep(nil, as: serial)
        guard let line = try? encode(Line(n: serial)) else { return }
        unwritten += line
        guard (try? append(Data(), andSync: false)) != nil else { return }
        // If that fails, the old file stays.
        if size > Self.smallest, size > 4 * lineBytes { try? rewrite() }
    }

    private func keep(_ line: Data?, as serial: UInt64) {
        lineBytes -= lines[serial]?.count ?? 0
        lineBytes += line?.count ?? 0
        lines[serial] = line
    }

    /// Writes the outstanding lines of finished messages, then `data`.
    private func append(_ data: Data, andSync isSynced: Bool) throws(OutboxError) {
        let new = unwritten + data
        do {
            try file.write(contentsOf: new)
            if isSynced { try file.synchronize() }
        } catch {
            // Cut off a partial line, so that it does not precede the next one.
            try? cut()
            throw failure(error)
        }
        size += new.count
        unwritten = Data()
    }

    private func cut() throws(OutboxError) {
        do {
            try file.truncate(atOffset: UInt64(size))
            try file.seekToEnd()
        } catch { throw failure(error) }
    }

    private func rewrite() throws(OutboxError) {
        let new = path + ".new"
        let data = lines.sorted { $0.key < $1.key }.reduce(into: Data()) { $0 += $1.value }
        let copy = try Self.open(new)
        do {
            try copy.truncate(atOffset: 0)
            try copy.write(contentsOf: data)
            try Disk.move(new, to: path)
        } catch {
            // The new file may have filled the disk.
            try? FileManager.default.removeItem(atPath: new)
            throw failure(error)
        }
        // From here on the name leads to the copy, even if the system does not confirm that the rename is on disk.
        (file, size) = (copy, data.count)
        try? Disk.syncName(of: path)
    }

    private func encode(_ line: Line) throws(OutboxError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        do { return try encoder.encode(line) + [0x0A] } catch { throw .codec("\(error)") }
    }

    private func failure(_ error: any Error) -> OutboxError {
        .storage("\(path): \((error as? Disk.Failure)?.text ?? error.localizedDescription)")
    }

    private static func open(_ path: String) throws(OutboxError) -> FileHandle {
        do throws(Disk.Failure) { return FileHandle(fileDescriptor: try Disk.openFile(path), closeOnDealloc: true) } catch {
            throw .storage("\(path): \(error.text)")
        }
    }
}
