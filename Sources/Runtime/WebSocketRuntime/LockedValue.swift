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
/// No task awaits anything while it holds the lock. The standard library's `Mutex` needs iOS 18 and macOS 15, and an app may be without SwiftNIO's.
@usableFromInline package struct LockedValue<Value> {
    /// The value and its lock in one allocation, for the lock must not move.
    @usableFromInline package final class Storage: ManagedBuffer<Value, LockPrimitive> {
        #if !canImport(Darwin)
            deinit { _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) } }
        #endif
    }
    @usableFromInline package let storage: Storage

    /// A lock around `value`.
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

    /// Runs `body` while no other thread can reach the value.
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

// SAFETY: the value is reached under the lock only.
extension LockedValue: @unchecked Sendable where Value: Sendable {}

extension LockedValue where Value == Void {
    /// A lock around what its owner keeps beside it.
    @inlinable package init() { self.init(()) }

    /// Runs `body` while no other thread runs one.
    @inlinable package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try withLockedValue { _ throws(Failure) in try body() }
    }
}
