#if canImport(Darwin)
    public import Darwin
    @usableFromInline package typealias LockPrimitive = os_unfair_lock
#elseif canImport(Musl)
    public import Musl
    @usableFromInline package typealias LockPrimitive = pthread_mutex_t
#else
    public import Glibc
    @usableFromInline package typealias LockPrimitive = pthread_mutex_t
#endif

/// A value that any thread may read and change, one at a time.
///
/// No task suspends while it holds the lock. The standard library's `Mutex` needs iOS 18 and macOS 15, and SwiftNIO's lock is not
/// available in apps without SwiftNIO.
@usableFromInline package struct LockedValue<Value> {
    /// The value and its lock in one allocation, because the lock must not move.
    @usableFromInline package final class Storage: ManagedBuffer<Value, LockPrimitive> {
        #if !canImport(Darwin)
            deinit { _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) } }
        #endif
    }
    @usableFromInline package let storage: Storage

    /// Creates a lock that protects `value`.
    @inlinable package init(_ value: Value) {
        let buffer = Storage.create(minimumCapacity: 1) { buffer in
            buffer.withUnsafeMutablePointerToElements { lock in
                lock.initialize(to: LockPrimitive())
                #if !canImport(Darwin)
                    pthread_mutex_init(lock, nil)
                #endif
            }
            return value
        }
        storage = unsafeDowncast(buffer, to: Storage.self)
    }

    /// Runs `body` while no other thread can access the value.
    ///
    /// Pass a closure and no key path: in generic code a key path is built anew for each call, which takes microseconds.
    @inlinable package func withLockedValue<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeMutablePointers { value, lock throws(Failure) in
            #if canImport(Darwin)
                os_unfair_lock_lock(lock)
                defer { os_unfair_lock_unlock(lock) }
            #else
                pthread_mutex_lock(lock)
                defer { pthread_mutex_unlock(lock) }
            #endif
            return try body(&value.pointee)
        }
    }
}

// SAFETY: the value is only accessed under the lock.
extension LockedValue: @unchecked Sendable where Value: Sendable {}

extension LockedValue where Value == Void {
    /// Creates a lock that protects state which its owner keeps elsewhere.
    @inlinable package init() { self.init(()) }

    /// Runs `body` while no other thread runs one.
    @inlinable package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try withLockedValue { _ throws(Failure) in try body() }
    }
}
