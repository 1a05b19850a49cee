// The system's C library; the module has to exist for `#if canImport(Darwin)`, too. Each below its page of the manual.
// fopen(3), fread(3), ferror(3)
public struct FILE {}
public func fopen(_ path: UnsafePointer<CChar>!, _ mode: UnsafePointer<CChar>!) -> UnsafeMutablePointer<FILE>! { fatalError() }
@discardableResult public func fclose(_ stream: UnsafeMutablePointer<FILE>!) -> Int32 { fatalError() }
public func fread(_ ptr: UnsafeMutableRawPointer!, _ size: Int, _ nitems: Int, _ stream: UnsafeMutablePointer<FILE>!) -> Int { fatalError() }
public func ferror(_ stream: UnsafeMutablePointer<FILE>!) -> Int32 { fatalError() }
// time(3)
public typealias time_t = Int
public func time(_ tloc: UnsafeMutablePointer<time_t>!) -> time_t { fatalError() }
// errno(2), <sys/errno.h>
public var errno: Int32 { get { fatalError() } set {} }
public var ENOENT: Int32 { 2 }
public var EINTR: Int32 { 4 }
public var EINVAL: Int32 { 22 }
public var EWOULDBLOCK: Int32 { 35 }
public var ELOOP: Int32 { 62 }
// open(2), close(2), read(2), write(2), fsync(2), rename(2), unlink(2); open is variadic in C, and Swift's overlay has these two
public var O_RDONLY: Int32 { 0 }
public var O_WRONLY: Int32 { 1 }
public var O_NONBLOCK: Int32 { 4 }
public var O_NOFOLLOW: Int32 { 0x100 }
public var O_CREAT: Int32 { 0x200 }
public var O_EXCL: Int32 { 0x800 }
public var O_DIRECTORY: Int32 { 0x10_0000 }
public var O_CLOEXEC: Int32 { 0x100_0000 }
public func open(_ path: UnsafePointer<CChar>, _ oflag: Int32) -> Int32 { fatalError() }
public func open(_ path: UnsafePointer<CChar>, _ oflag: Int32, _ mode: mode_t) -> Int32 { fatalError() }
public func close(_ fildes: Int32) -> Int32 { fatalError() }
public func read(_ fildes: Int32, _ buf: UnsafeMutableRawPointer!, _ nbyte: Int) -> Int { fatalError() }
public func write(_ fildes: Int32, _ buf: UnsafeRawPointer!, _ nbyte: Int) -> Int { fatalError() }
public func fsync(_ fildes: Int32) -> Int32 { fatalError() }
public func rename(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 { fatalError() }
public func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { fatalError() }
// flock(2)
public var LOCK_EX: Int32 { 2 }
public var LOCK_NB: Int32 { 4 }
public func flock(_ fd: Int32, _ operation: Int32) -> Int32 { fatalError() }
// stat(2), geteuid(2)
public typealias mode_t = UInt16
public typealias uid_t = UInt32
public var S_IFMT: mode_t { 0o170000 }
public var S_IFREG: mode_t { 0o100000 }
public typealias nlink_t = UInt16
public struct stat {
    public init() { (st_mode, st_nlink, st_uid) = (0, 0, 0) }
    public var st_mode: mode_t
    public var st_nlink: nlink_t
    public var st_uid: uid_t
}
public func fstat(_ fildes: Int32, _ buf: UnsafeMutablePointer<stat>!) -> Int32 { fatalError() }
public func geteuid() -> uid_t { fatalError() }
// os_unfair_lock_lock(3), <os/lock.h>
public struct os_unfair_lock { public init() {} }
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock>
public func os_unfair_lock_lock(_ lock: os_unfair_lock_t) { fatalError() }
public func os_unfair_lock_unlock(_ lock: os_unfair_lock_t) { fatalError() }
