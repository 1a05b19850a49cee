import CodecCore
public import WAMPCore

/// Registering procedures.
///
/// Each invocation runs in a task of its own, so a handler may call other procedures, and also itself. When the caller cancels the call
/// or the connection is lost, that task is cancelled. An error that a handler throws becomes an ERROR: a ``WAMPFailure`` unchanged, any
/// other error as converted by ``WAMPOptions/failure``.
extension WAMPClient {
    /// Registers a procedure; returns when the router has accepted it.
    ///
    /// Input that cannot be decoded as the declared type is answered with `wamp.error.invalid_argument`. If more than 4,096 parts of
    /// input wait for the handler, the call is answered with `wamp.error.unavailable`.
    ///
    /// A handler that uses the client must hold it weakly, because the client keeps the handler.
    ///
    /// - Parameters:
    ///   - procedure: The procedure; its URI may be a pattern.
    ///   - options: The options.
    ///   - handler: Answers a call.
    @discardableResult
    public func register<Input, Output>(
        _ procedure: Procedure<Input, Output>, options: RegisterOptions = RegisterOptions(),
        _ handler: @escaping @Sendable (Input, Invocation) async throws -> Output
    ) async throws(WAMPError) -> Registration {
        try await shell.register(procedure.uri, options, procedure.handler(handler, shell))
    }

    /// Registers a procedure by its URI; returns when the router has accepted it.
    @discardableResult
    public func register(
        _ uri: String, options: RegisterOptions = RegisterOptions(),
        handler: @escaping @Sendable (WAMPArguments, Invocation) async throws -> WAMPArguments
    ) async throws(WAMPError) -> Registration {
        try await register(Procedure.raw(uri), options: options, handler)
    }
}

extension Procedure {
    /// Wraps a handler of typed values as a handler of arguments.
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
