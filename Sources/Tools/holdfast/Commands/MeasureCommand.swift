import ArgumentParser
import Dispatch
import Foundation
import HoldfastTerminal

#if canImport(CDispatch)
    import CDispatch
#endif

struct MeasureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measure the size and processor time of messages as JSON, MessagePack and CBOR.",
        discussion: """
            Reads messages from a file, or with - from standard input: a JSON array of messages, one JSON value per line, or one value. \
            Prints the bytes per message, plain and with permessage-deflate (with and without context takeover), the processor time to \
            encode, decode and compress a message, and a recommendation: JSON or binary.

            JSON is counted without white space. Bytes are those of payloads: a frame adds 2 to 14. Times are for this library's \
            decoders and encoders of values without a known type, in processor time of one thread; each is the median of five rounds. \
            Everything is compressed, even messages that are too short for compression by default.

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("A file of JSON, or - for standard input.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("The maximum number of bytes to read, such as 512K or 1G.", valueName: "bytes"))
    var maxSize: ByteCount?

    @Flag(help: "Print the result as JSON.")
    var json = false

    func run() async throws {
        let limit = maxSize?.bytes ?? 64 << 20
        let bytes = try await bytes(upTo: limit)
        let input: MeasureInput
        do throws(MeasureInput.Problem) { input = try MeasureInput(bytes, limit: limit) } catch {
            StandardOutput.warn("\(file == "-" ? "standard input" : file): \(error)")
            throw Outcome.badInput.code
        }
        let report = try Measurement(messages: input.messages, stopwatch: Stopwatch(now: Self.threadTime)).report()
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: ProcessInfo.processInfo.environment)
        StandardOutput.write((json ? report.json : report.lines(style: style).joined(separator: "\n")) + "\n")
    }

    /// Returns the content of the file; stops reading soon after the limit.
    private func bytes(upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        if file == "-" {
            let input = StandardInput()
            while bytes.count <= limit, let more = await input.read() { bytes += more }
            return bytes
        }
        do {
            let handle = try FileHandle(forReadingFrom: URL(filePath: file))
            while bytes.count <= limit, let more = try handle.read(upToCount: 1 << 20), !more.isEmpty { bytes += more }
            return bytes
        } catch {
            throw ValidationError("\(file): cannot be read.")
        }
    }

    /// Returns the processor time of the calling thread.
    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
