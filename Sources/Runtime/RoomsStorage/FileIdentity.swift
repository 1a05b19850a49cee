#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The identity of a file on a disk: a copy or a restored file has another identity, even with the same contents.
///
/// The system reuses the number of a deleted file. So the creation time, which no program can choose, is a part of the identity if the
/// system reports it.
package struct FileIdentity: Hashable, Sendable, LosslessStringConvertible {
    /// The number of the file within its file system.
    package let number: UInt64
    /// The creation time, in nanoseconds since 1970 UTC; 0 if the system does not report it.
    package let born: Int64
    /// The time of the last change, even one with the same contents, in nanoseconds since 1970 UTC; 0 if it is not part of the identity.
    package let changed: Int64

    /// Returns the identity of the file at a path; nil if there is none.
    ///
    /// - Parameter isUnchanging: Whether the file is never written, so that ``changed`` is part of the identity.
    package init?(path: String, isUnchanging: Bool = false) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        number = UInt64(status.st_ino)
        #if canImport(Darwin)
            let change = status.st_ctimespec
        #else
            let change = status.st_ctim
        #endif
        changed = isUnchanging ? Self.nanoseconds(Int64(change.tv_sec), Int64(change.tv_nsec)) : 0
        #if canImport(Darwin)
            born = Self.nanoseconds(Int64(status.st_birthtimespec.tv_sec), Int64(status.st_birthtimespec.tv_nsec))
        #elseif canImport(Musl)
            born = 0
        #else
            born = Self.birth(path)
        #endif
    }

    /// Parses the output of ``description``.
    package init?(_ description: String) {
        let parts = description.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let number = UInt64(parts[0]), let born = Int64(parts[1]), let changed = Int64(parts[2]) else { return nil }
        (self.number, self.born, self.changed) = (number, born, changed)
    }

    package var description: String { "\(number)/\(born)/\(changed)" }

    /// Whether both are the same file, as far as known.
    package func isSame(as other: FileIdentity) -> Bool {
        number == other.number && (born == other.born || born == 0 || other.born == 0) && changed == other.changed
    }

    private static func nanoseconds(_ seconds: Int64, _ rest: Int64) -> Int64 { seconds &* 1_000_000_000 &+ rest }

    #if canImport(Glibc)
        /// Swift's module of the C library lacks `statx`, so it is looked up by name.
        private static func birth(_ path: String) -> Int64 {
            typealias Statx = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32
            guard let symbol = dlsym(nil, "statx") else { return 0 }
            // SAFETY: the signature of statx(2); its structure has 256 bytes.
            let statx = unsafeBitCast(symbol, to: Statx.self)
            return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { structure in
                structure.initializeMemory(as: UInt8.self, repeating: 0)
                let birthTime: UInt32 = 0x800
                guard statx(AT_FDCWD, path, 0, birthTime, structure.baseAddress!) == 0,
                    structure.load(as: UInt32.self) & birthTime != 0
                else { return 0 }
                let rest = structure.load(fromByteOffset: 88, as: UInt32.self)
                return nanoseconds(structure.load(fromByteOffset: 80, as: Int64.self), Int64(rest))
            }
        }
    #endif
}
