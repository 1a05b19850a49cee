package import WebSocketRuntime

/// How a store of either side says why it does not work.
package protocol StorageError: Error {
    static var full: Self { get }
    static var closed: Self { get }
    static func readOnly(_ path: String) -> Self
    static func inUse(_ directory: String) -> Self
    static func corrupt(_ reason: String) -> Self
    static func failed(_ reason: String) -> Self
}

extension StorageError {
    /// A file or a directory that cannot be made.
    package init(_ failure: Disk.Failure, _ path: String) { self = failure.isFull ? .full : .readOnly(path) }

    /// A directory of which one cannot take hold.
    package init(_ failure: FileLock.Failure, _ directory: String) {
        switch failure {
        case .held: self = .inUse(directory)
        case .system(let number): self.init(Disk.Failure(number: number), directory)
        }
    }
}
