package import WebSocketRuntime

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A number in a file of its own, which is overwritten in place with one call.
package final class NumberFile: Sendable {
    /// The content of such a file.
    package enum Content: Hashable, Sendable {
        /// There is no file.
        case missing
        /// The content was not written by this program.
        case damaged
        /// The file was created, and no number was written yet.
        case unfinished
        case number(Int64)
    }
    private static let magic: [UInt8] = Array("HfHigh\u{0}\u{1}".utf8)
    private static let size = 24
    private let descriptor: Int32

    /// Opens an existing file.
    package init(_ path: String) throws(Disk.Failure) {
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Disk.Failure(number: errno) }
    }

    deinit { _ = close(descriptor) }

    /// Creates or replaces a file, which gets its name once it is on disk.
    ///
    /// - Parameter number: The number; nil for ``Content/unfinished``.
    package static func make(_ path: String, _ number: Int64?) throws(Disk.Failure) {
        let new = path + ".new"
        // Removes a leftover: the new file must be another one.
        _ = unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Disk.Failure(number: errno) }
        let written = write(number ?? -1, to: descriptor)
        let reason = errno
        _ = close(descriptor)
        guard written else { throw Disk.Failure(number: reason) }
        try Disk.settle(new, as: path)
    }

    /// Reads the content of a file.
    package static func read(_ path: String) throws(Disk.Failure) -> Content {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return .missing }
            throw Disk.Failure(number: errno)
        }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: size + 1)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, size + 1, 0) }
        guard count >= 0 else { throw Disk.Failure(number: errno) }
        bytes.removeLast()
        guard count == size else { return .damaged }
        let number = bytes[8..<16].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard bytes == content(Int64(bitPattern: number)) else { return .damaged }
        return Int64(bitPattern: number) < 0 ? .unfinished : .number(Int64(bitPattern: number))
    }

    /// Writes a number to the system; it is on disk after ``Disk/sync(_:)``.
    package func write(_ number: Int64) throws(Disk.Failure) {
        guard Self.write(number, to: descriptor) else { throw Disk.Failure(number: errno) }
    }

    private static func write(_ number: Int64, to descriptor: Int32) -> Bool {
        errno = EIO
        return content(number).withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) } == size
    }

    /// The number, with a checksum of the bytes before (FNV-1a).
    private static func content(_ number: Int64) -> [UInt8] {
        var bytes = magic
        append(UInt64(bitPattern: number), to: &bytes)
        append(bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }, to: &bytes)
        return bytes
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
