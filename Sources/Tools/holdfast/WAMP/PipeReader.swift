import Dispatch
import Foundation

/// Reads a pipe beside the tasks, which must not block.
struct PipeReader: Sendable {
    private static let chunk = 64 << 10

    private let file: Int32
    private let queue = DispatchQueue(label: "holdfast.pipe")

    /// Reads from this descriptor, which somebody else keeps open.
    init(_ file: Int32) { self.file = file }

    /// What has come; nil when nothing more can.
    func next() async -> [UInt8]? {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: blockingRead()) }
        }
    }

    /// The last bytes of all that comes, as a text without white space around it.
    func tail(_ limit: Int) async -> String {
        var last: [UInt8] = []
        while let bytes = await next() { last = Array((last + bytes).suffix(limit)) }
        return String(decoding: last, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func blockingRead() -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, initialized in
                count = Foundation.read(file, buffer.baseAddress, buffer.count)
                initialized = max(0, count)
            }
            if count > 0 { return bytes }
            if count == 0 || errno != EINTR { return nil }
        }
    }
}
