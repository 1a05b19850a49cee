import Dispatch
import Foundation

/// One run of a shell command: something on its standard input, its standard output as it comes.
struct ShellRun: Sendable {
    /// How a command ended.
    struct End: Hashable, Sendable {
        /// Its status; of one that a signal ended, 128 and the signal.
        var status: Int32
        /// What it said last on standard error.
        var complaint: String
    }

    /// Why there is no result.
    enum Failure: Error, Hashable, CustomStringConvertible {
        /// It could not be started: why.
        case notStarted(String)
        /// It printed more than ``ShellRun/outputLimit``.
        case tooLong

        var description: String {
            switch self {
            case .notStarted(let reason): "the command could not be started: \(reason)"
            case .tooLong: "the command printed more than \(ShellRun.outputLimit.bytesPhrase)"
            }
        }
    }

    /// The most bytes that a command may print.
    static let outputLimit = 16 << 20
    /// How many bytes of what it complains about are kept: the last ones.
    static let complaintLimit = 1000

    let command: String
    let input: [UInt8]

    /// Runs it to its end, and hands over what it prints.
    ///
    /// If the task is cancelled, or more is printed than the limit, the command and what it has started are told to end.
    ///
    /// - Throws: A ``Failure``, a `CancellationError`, or what `output` throws.
    func run(_ output: ([UInt8]) async throws -> Void) async throws -> End {
        // What a command does not read must not end this process; where its own output is not read, StandardOutput does that.
        signal(SIGPIPE, SIG_IGN)
        let process = Process()
        let (standardInput, standardOutput, standardError) = (Pipe(), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        process.environment = Self.withoutSecrets(ProcessInfo.processInfo.environment)
        (process.standardInput, process.standardOutput, process.standardError) = (standardInput, standardOutput, standardError)
        let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            continuation.yield(process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus)
            continuation.finish()
        }
        do { try Self.withSignals { try process.run() } } catch { throw Failure.notStarted(error.localizedDescription) }
        let group = ProcessGroup(process.processIdentifier)
        feed(standardInput)
        let complaints = PipeReader(standardError.fileHandleForReading.fileDescriptor)
        async let complaint = complaints.tail(Self.complaintLimit)
        defer { withExtendedLifetime((standardOutput, standardError)) {} }
        let status = try await withTaskCancellationHandler {
            do {
                let reader = PipeReader(standardOutput.fileHandleForReading.fileDescriptor)
                var count = 0
                while let bytes = await reader.next() {
                    count += bytes.count
                    guard count <= Self.outputLimit else { throw Failure.tooLong }
                    try await output(bytes)
                }
            } catch {
                group.end()
                throw error
            }
            var status: Int32 = 0
            for await number in ends { status = number }
            return status
        } onCancel: {
            group.end()
        }
        try Task.checkCancellation()
        return End(status: status, complaint: await complaint)
    }

    /// An environment without our own secrets: a command that shows its environment would show them to whoever calls.
    static func withoutSecrets(_ environment: [String: String]) -> [String: String] {
        let secrets: Set = [
            ConnectionOptions.bearerVariable, HandshakeOptions.passphraseVariable, LoginOptions.passwordVariable,
            RoomOptions.tokenVariable, WAMPLoginOptions.secretVariable,
        ]
        return environment.filter { !secrets.contains($0.key) }
    }

    /// Runs the body with no signal blocked.
    ///
    /// Threads of the pool block nearly all of them, and a process has the mask of the thread that starts it: it could not be told to end.
    private static func withSignals(_ body: () throws -> Void) rethrows {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    /// Writes the input; a command that does not read it keeps nobody waiting.
    private func feed(_ pipe: Pipe) {
        let input = Data(input)
        let handle = pipe.fileHandleForWriting
        DispatchQueue.global().async {
            try? handle.write(contentsOf: input)
            try? handle.close()
        }
    }
}
