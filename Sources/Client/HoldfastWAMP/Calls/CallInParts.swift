public import CodecCore
public import WAMPCore

/// A call whose input is sent in parts; see ``WAMPClient/callInParts(_:_:keywords:options:)``.
///
/// It is cancelled when this is released before it has ended.
public struct CallInParts: Sendable {
    let call: CallHandle

    /// The result in parts as they come; the last one is the result itself.
    public var progress: CallProgress<WAMPArguments> { CallProgress(call: call, form: .raw) }

    /// Sends the next part of the input; waits until the session has joined, and while the connection takes nothing.
    ///
    /// - Throws: Why the call has ended; ``WAMPError/Code/cancelled`` if that is because its result is there.
    public func send(_ list: [Value] = [], keywords: ValueMap = ValueMap()) async throws(WAMPError) {
        try await call.send(WAMPArguments(list, keywords: keywords), isLast: false)
    }

    /// Sends the last part of the input; as ``send(_:keywords:)``.
    public func finish(_ list: [Value] = [], keywords: ValueMap = ValueMap()) async throws(WAMPError) {
        try await call.send(WAMPArguments(list, keywords: keywords), isLast: true)
    }

    /// Waits for the result.
    public func result() async throws(WAMPError) -> WAMPArguments { try await progress.result() }

    /// Cancels the call, unless it has ended.
    public func cancel() { call.cancel() }
}
