#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Which file of a disk a name stands for: what is copied or restored is another one, whatever it holds.
///
/// The number of a file is given again when the file is gone; so the moment of its making, which no program can choose, is a part of it
/// where the system tells that moment.
package struct FileIdentity: Hashable, Sendable, LosslessStringConvertible {
    /// Its number within its file system.
    package let number: UInt64
    /// When it was made, in nanoseconds since 1970 UTC; 0: the system does not tell.
    package let born: Int64
    /// When it was changed last, be it written over with what it held; in nanoseconds since 1970 UTC, or 0 if that is no part of it.
    package let changed: Int64

    /// The file at a path; nil if there is none.
    ///
    /// - Parameter isUnchanging: Whether nobody writes it, so that ``changed`` is a part of it.
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

    /// What ``description`` has written.
    package init?(_ description: String) {
        let parts = description.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let number = UInt64(parts[0]), let born = Int64(parts[1]), let changed = Int64(parts[2]) else { return nil }
        (self.number, self.born, self.changed) = (number, born, changed)
    }

    package var description: String { "\(number)/\(born)/\(changed)" }

    /// Whether both are one file, as far as is known of them.
    package func isSame(as other: FileIdentity) -> Bool {
        number == other.number && (born == other.born || born == 0 || other.born == 0) && changed == other.changed
    }

    private static func nanoseconds(_ seconds: Int64, _ rest: Int64) -> Int64 { seconds &* 1_000_000_000 &+ rest }

    #if canImport(Glibc)
        /// Swift's module of the C library leaves `statx` out, so it is looked up by its name.
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
