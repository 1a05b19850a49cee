public import CodecCore
public import WAMPCore

/// Calling procedures.
///
/// A call ends exactly once: with its result, the error of the router or the callee, its timeout, its cancellation, or a lost connection.
/// If the task is cancelled, the call throws at once and the router is told. While no session has joined, a call waits for one; see
/// `CallOptions.joinPatience`.
extension WAMPClient {
    /// Calls a procedure with positional arguments; a single argument is the whole input.
    ///
    /// - Parameters:
    ///   - procedure: The procedure.
    ///   - input: The positional arguments.
    ///   - options: The options.
    /// - Throws: ``WAMPError``.
    public func call<each Argument, Output>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions()
    ) async throws(WAMPError) -> Output {
        let arguments: WAMPArguments
        do { arguments = try procedure.input.encode((repeat each input), shell.serialization) } catch {
            throw .unencodable(error, "CALL \(procedure.uri)")
        }
        let result = try await shell.call(procedure.uri, arguments, options)
        do { return try procedure.output.decode(result) } catch { throw .undecodable(error, "CALL \(procedure.uri)") }
    }

    /// Calls a procedure by its URI.
    ///
    /// - Parameters:
    ///   - uri: The procedure's URI.
    ///   - list: The positional arguments.
    ///   - keywords: The keyword arguments.
    ///   - options: The options.
    @discardableResult
    public func call(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) async throws(WAMPError) -> WAMPArguments {
        try await shell.call(uri, WAMPArguments(list, keywords: keywords), options)
    }

    // MARK: - Progressive calls

    /// Calls a procedure whose result comes in parts; the last part is the final result.
    ///
    /// The call begins at once. If the consumer leaves 4,096 parts unread, the call is cancelled with ``WAMPError/Code/overrun``.
    public func callProgressively<each Argument, Output>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallProgress<Output> {
        let arguments: WAMPArguments
        do { arguments = try procedure.input.encode((repeat each input), shell.serialization) } catch {
            throw .unencodable(error, "CALL \(procedure.uri)")
        }
        return CallProgress(call: shell.beginProgress(procedure.uri, arguments, options, isInParts: false), form: procedure.output)
    }

    /// Calls a procedure by its URI whose result comes in parts; the last part is the final result.
    public func callProgressively(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallProgress<WAMPArguments> {
        CallProgress(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: false), form: .raw)
    }

    /// Calls a procedure by its URI with input in parts, of which this is the first.
    ///
    /// The call fails with ``WAMPError/Code/unsupported`` if the router does not support this.
    public func callInParts(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallInParts {
        CallInParts(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: true))
    }
}
