public import CodecCore
public import WAMPCore

/// Calling procedures.
///
/// A call ends exactly once: with its result, the error of the router or the callee, its timeout, its cancellation, or the loss of the
/// connection. If the task is cancelled, the router is told, and this throws at once. While no session has joined a call waits for one, see
/// `CallOptions.joinPatience`.
extension WAMPClient {
    /// Calls a procedure with arguments by their places; a lone argument is the input as a whole.
    ///
    /// - Parameters:
    ///   - procedure: What to call.
    ///   - input: The parts of its input.
    ///   - options: What is to be other than the defaults.
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
    ///   - list: Arguments by place.
    ///   - keywords: Arguments by name.
    ///   - options: What is to be other than the defaults.
    @discardableResult
    public func call(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) async throws(WAMPError) -> WAMPArguments {
        try await shell.call(uri, WAMPArguments(list, keywords: keywords), options)
    }

    // MARK: - In parts

    /// Calls a procedure whose result comes in parts; the last one is the result itself.
    ///
    /// The call begins at once. A consumer that lets 4,096 parts wait has its call cancelled, with ``WAMPError/Code/overrun``.
    public func callProgressively<each Argument, Output>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallProgress<Output> {
        let arguments: WAMPArguments
        do { arguments = try procedure.input.encode((repeat each input), shell.serialization) } catch {
            throw .unencodable(error, "CALL \(procedure.uri)")
        }
        return CallProgress(call: shell.beginProgress(procedure.uri, arguments, options, isInParts: false), form: procedure.output)
    }

    /// Calls a procedure by its URI whose result comes in parts; the last one is the result itself.
    public func callProgressively(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallProgress<WAMPArguments> {
        CallProgress(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: false), form: .raw)
    }

    /// Calls a procedure by its URI with input that is sent in parts, of which this is the first.
    ///
    /// It fails with ``WAMPError/Code/unsupported`` if the router cannot do that.
    public func callInParts(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallInParts {
        CallInParts(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: true))
    }
}
