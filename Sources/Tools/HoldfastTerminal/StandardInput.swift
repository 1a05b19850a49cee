import Dispatch
import Foundation
import Holdfast

/// Standard input, which is read only on demand, so that a fast writer waits instead of filling memory.
package final class StandardInput: Sendable {
    package static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    private static let chunk = 64 * 1024

    private let queue = DispatchQueue(label: "holdfast.standard-input")
    private let wake: (read: Int32, write: Int32)

    package init() {
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        wake = (ends[0], ends[1])
    }

    deinit {
        close(wake.read)
        close(wake.write)
    }

    /// Returns the next bytes; nil at the end of input, on a read error, and after the task was cancelled.
    package func read() async -> [UInt8]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: self.blockingRead()) }
            }
        } onCancel: {
            var byte: UInt8 = 0
            _ = write(wake.write, &byte, 1)
        }
    }

    private func blockingRead() -> [UInt8]? {
        while true {
            var files = [
                pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0), pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&files, 2, -1) < 0, errno != EINTR { return nil }
            if files[1].revents != 0 { return nil }
            guard files[0].revents != 0 else { continue }
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, initialized in
                count = Foundation.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
                initialized = max(0, count)
            }
            if count > 0 { return bytes }
            if count == 0 || (errno != EINTR && errno != EAGAIN) { return nil }
        }
    }
}

/// Splits a stream of bytes into lines, wherever the reads split it.
package struct LineSplitter: Hashable, Sendable {
    package enum Line: Hashable, Sendable {
        case text(String)
        /// The line with this number (from 1) is not UTF-8, so it cannot be a text message.
        case invalid(number: Int)
    }

    private var rest: [UInt8] = []
    private var count = 0

    package init() {}

    /// Returns the lines that these bytes complete, without their line breaks (LF or CR LF).
    package mutating func split(_ bytes: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var slice = bytes[...]
        while let end = slice.firstIndex(of: 0x0A) {
            rest += slice[..<end]
            lines.append(takeRest())
            slice = slice[slice.index(after: end)...]
        }
        rest += slice
        return lines
    }

    /// Returns the last line if the input did not end with a line break.
    package mutating func finish() -> Line? { rest.isEmpty ? nil : takeRest() }

    private mutating func takeRest() -> Line {
        if rest.last == 0x0D { rest.removeLast() }
        count += 1
        defer { rest.removeAll(keepingCapacity: true) }
        var validator = UTF8Validator()
        let isText = rest.withUnsafeBytes { validator.validate($0) } && validator.isComplete
        return isText ? .text(String(decoding: rest, as: UTF8.self)) : .invalid(number: count)
    }
}
