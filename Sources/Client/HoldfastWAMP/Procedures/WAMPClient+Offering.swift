import CodecCore
public import WAMPCore

/// Offering procedures.
///
/// Each invocation runs in a task of its own, so a handler may call others, also itself. When the caller no longer wants the result, or the
/// connection is lost, that task is cancelled. What a handler throws becomes an ERROR: a ``WAMPFailure`` as it is, anything else
/// as ``WAMPOptions/failure`` says.
extension WAMPClient {
    /// Offers a procedure; returns when the router calls it.
    ///
    /// Input that is not of the declared type is answered with `wamp.error.invalid_argument`. More than 4,096 parts of input that wait for
    /// the handler are answered with `wamp.error.unavailable`.
    ///
    /// A handler that uses the client holds it weakly: the client keeps the handler.
    ///
    /// - Parameters:
    ///   - procedure: What is offered; its URI may be a pattern.
    ///   - options: What is to be other than the defaults.
    ///   - handler: Answers a call.
    @discardableResult
    public func register<Input, Output>(
        _ procedure: Procedure<Input, Output>, options: RegisterOptions = RegisterOptions(),
        _ handler: @escaping @Sendable (Input, Invocation) async throws -> Output
    ) async throws(WAMPError) -> Registration {
        try await shell.register(procedure.uri, options, procedure.handler(handler, shell))
    }

    /// Offers a procedure by its URI; returns when the router calls it.
    @discardableResult
    public func register(
        _ uri: String, options: RegisterOptions = RegisterOptions(),
        handler: @escaping @Sendable (WAMPArguments, Invocation) async throws -> WAMPArguments
    ) async throws(WAMPError) -> Registration {
        try await register(Procedure.raw(uri), options: options, handler)
    }
}

extension Procedure {
    /// A handler of values as one of arguments.
    func handler(
        _ handler: @escaping @Sendable (Input, Invocation) async throws -> Output, _ shell: WAMPShell
    ) -> ProcedureHandler {
        { [input, output, weak shell] arguments, invocation in
            let value: Input
            do { value = try input.decode(arguments) } catch {
                throw WAMPFailure(WAMPURI.Error.invalidArgument, ["the arguments are not of the declared type"])
            }
            let result = try output.encode(try await handler(value, invocation), shell?.serialization)
            return result
        }
    }
}
