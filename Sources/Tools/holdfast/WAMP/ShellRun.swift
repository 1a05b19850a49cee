import Dispatch
import Foundation
import HoldfastTerminal
import WAMPCore
import WebSocketRuntime

/// One run of a shell command: writes its standard input, and passes on its standard output as it arrives.
struct ShellRun: Sendable {
    /// How a command ended.
    struct End: Hashable, Sendable {
        /// The exit status; 128 plus the signal if a signal ended the command.
        var status: Int32
        /// The end of its standard error.
        var complaint: String
    }

    /// The reason why there is no result.
    enum Failure: Error, Hashable, CustomStringConvertible {
        /// The command could not be started; the reason.
        case notStarted(String)
        /// The command printed more than ``ShellRun/outputLimit``.
        case tooLong

        var description: String {
            switch self {
            case .notStarted(let reason): "the command could not be started: \(reason)"
            case .tooLong: "the command printed more than \(ShellRun.outputLimit.bytesPhrase)"
            }
        }
    }

    /// The maximum number of bytes that a command may print.
    static let outputLimit = 16 << 20
    /// The number of bytes of standard error that are kept: the last ones.
    static let complaintLimit = 1000

    let command: String
    let input: [UInt8]

    /// Runs the command to its end, and passes on its output.
    ///
    /// If the task is cancelled, or the output exceeds the limit, the command and its child processes are ended.
    ///
    /// - Throws: A ``Failure``, a `CancellationError`, or an error of `output`.
    func run(_ output: ([UInt8]) async throws -> Void) async throws -> End {
        // A command that does not read its input must not end this process; StandardOutput handles a lost reader of the tool's own
        // output.
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

    /// Returns an environment without the tool's secrets, which a command might print to the caller.
    static func withoutSecrets(_ environment: [String: String]) -> [String: String] {
        let secrets: Set = [
            ConnectionOptions.bearerVariable, HandshakeOptions.passphraseVariable, LoginOptions.passwordVariable,
            RoomOptions.tokenVariable, WAMPLoginOptions.secretVariable, GraphQLOptionGroup.payloadVariable,
            SocketIOOptionGroup.payloadVariable,
        ]
        return environment.filter { !secrets.contains($0.key) }
    }

    /// Runs the body with no signals blocked.
    ///
    /// Threads of the pool block nearly all signals, and a child process inherits the mask of its thread: it would ignore a request to
    /// end.
    private static func withSignals(_ body: () throws -> Void) rethrows {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    /// Writes the input in the background, so that a command that does not read it blocks nothing.
    private func feed(_ pipe: Pipe) {
        let input = Data(input)
        let handle = pipe.fileHandleForWriting
        DispatchQueue.global().async {
            try? handle.write(contentsOf: input)
            try? handle.close()
        }
    }
}

/// Turns the output of a command into results: JSON, or text otherwise.
struct CommandOutput {
    private let isInParts: Bool
    /// The bytes that are not part of a result yet.
    private var rest: [UInt8] = []

    init(isInParts: Bool) { self.isInParts = isInParts }

    /// Adds output; returns the complete parts that are known to be followed by another.
    mutating func take(_ bytes: [UInt8]) -> [WAMPArguments] {
        rest += bytes
        guard isInParts, rest.count > 1, let end = rest.dropLast().lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        defer { rest.removeFirst(end + 1) }
        return rest[..<end].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Self.arguments($0) }
    }

    /// The last part, or the whole output: one argument, or none if there is only white space.
    var result: WAMPArguments { Self.arguments(rest[...]) }

    private static func arguments(_ bytes: ArraySlice<UInt8>) -> WAMPArguments {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return .none }
        return WAMPArguments([JSONArgument(argument: String(text[...last])).value])
    }
}

/// Limits how many commands run at once; others wait in the order of their arrival.
final class CommandGate: Sendable {
    private struct State {
        var running = 0
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        /// The number of arrivals; `cancelled` holds those that were cancelled before they waited.
        var count: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }
    private let most: Int
    private let waits: @Sendable () -> Void
    private let state = LockedValue(State())

    /// Creates a gate; `waits` is called for each run that has to wait.
    init(most: Int, waits: @escaping @Sendable () -> Void = {}) { (self.most, self.waits) = (most, waits) }

    /// Runs the body when it is its turn; a task that is cancelled earlier gives up its place.
    ///
    /// - Throws: A `CancellationError`, or an error of the body.
    func run<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await body()
    }

    /// The number of running and of waiting bodies.
    var load: (running: Int, waiting: Int) { state.withLockedValue { ($0.running, $0.waiting.count) } }

    private func enter() async throws {
        let number = state.withLockedValue { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let turn: Swift.Result<Void, any Error>? = state.withLockedValue { state in
                    if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    guard state.running >= most else {
                        state.running += 1
                        return .success(())
                    }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let turn { continuation.resume(with: turn) } else { waits() }
            }
        } onCancel: {
            let waiting = state.withLockedValue { state in
                guard let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return CheckedContinuation<Void, any Error>?.none
                }
                return state.waiting.remove(at: place).continuation
            }
            waiting?.resume(throwing: CancellationError())
        }
        state.withLockedValue { _ = $0.cancelled.remove(number) }
    }

    private func leave() {
        let next = state.withLockedValue { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation as CheckedContinuation<Void, any Error>? }
            state.running -= 1
            return nil
        }
        next?.resume()
    }
}

/// Reads a pipe outside of the tasks, which must not block.
struct PipeReader: Sendable {
    private static let chunk = 64 << 10

    private let file: Int32
    private let queue = DispatchQueue(label: "holdfast.pipe")

    /// Reads from this descriptor, which the caller keeps open.
    init(_ file: Int32) { self.file = file }

    /// Returns the bytes that have arrived; nil at the end.
    func next() async -> [UInt8]? {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: blockingRead()) }
        }
    }

    /// Returns the last bytes of all output, as trimmed text.
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

/// A process and its child processes.
struct ProcessGroup: Sendable {
    /// How long the processes may take to end.
    private static let patience = DispatchTimeInterval.seconds(2)

    private let leader: pid_t

    /// Creates the group that a process of Foundation leads.
    init(_ leader: pid_t) { self.leader = leader }

    /// Asks all processes to end, and kills them later.
    func end() {
        signal(SIGTERM)
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { signal(SIGKILL) }
    }

    private func signal(_ number: Int32) {
        // A process that does not lead a group gets the signal itself.
        if kill(-leader, number) != 0 { kill(leader, number) }
    }
}
