package import WebSocketRuntime

/// The errors of a store, on either side.
package protocol StorageError: Error {
    static var full: Self { get }
    static var closed: Self { get }
    static func readOnly(_ path: String) -> Self
    static func inUse(_ directory: String) -> Self
    static func corrupt(_ reason: String) -> Self
    static func failed(_ reason: String) -> Self
}

extension StorageError {
    /// Converts an error for a file or directory that cannot be created.
    package init(_ failure: Disk.Failure, _ path: String) { self = failure.isFull ? .full : .readOnly(path) }

    /// Converts an error for a directory that cannot be locked.
    package init(_ failure: FileLock.Failure, _ directory: String) {
        switch failure {
        case .held: self = .inUse(directory)
        case .system(let number): self.init(Disk.Failure(number: number), directory)
        }
    }
}
