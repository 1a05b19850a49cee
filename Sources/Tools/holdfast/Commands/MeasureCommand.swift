import ArgumentParser
import Dispatch
import Foundation

#if canImport(CDispatch)
    import CDispatch
#endif

struct MeasureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measure what messages cost as JSON, MessagePack and CBOR.",
        discussion: """
            Reads messages from a file, or with - from standard input: a JSON array of them, one JSON value a line, or one value. \
            Prints bytes a message, plain and with permessage-deflate (with and without context takeover), the processor time to \
            encode, decode and compress one, and what follows: JSON or binary?

            JSON is counted without white space. Bytes are those of payloads: a frame adds 2 to 14. Times are of this library's \
            readers and writers of values whose shape is not known beforehand, in processor time of one thread, each the median of five \
            rounds. Everything is compressed, also messages that are by default too short for that.

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("A file of JSON, or - for standard input.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("The most to read, such as 512K or 1G.", valueName: "bytes"))
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

    /// What is in the file; of one that is too long somewhat more than allowed.
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

    /// The processor time of the calling thread.
    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
