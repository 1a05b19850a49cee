public import CodecCore
public import WAMPCore

/// What the handler of a procedure throws to answer with an error of its own.
///
/// ```swift
/// throw WAMPFailure("com.app.error.sold_out", ["nothing is left"], keywords: ["until": "Monday"])
/// ```
public struct WAMPFailure: Error, Sendable {
    /// The URI of the error.
    public let uri: String
    /// What goes with it.
    public let arguments: WAMPArguments

    /// An error with its arguments.
    public init(_ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap()) {
        self.init(uri, WAMPArguments(list, keywords: keywords))
    }

    /// An error with its arguments.
    public init(_ uri: String, _ arguments: WAMPArguments) { (self.uri, self.arguments) = (uri, arguments) }

    /// What the caller gets to know of an error that a handler threw.
    init(of error: any Error, _ others: (any Error) -> WAMPFailure) {
        switch error {
        case let failure as WAMPFailure: self = failure
        // A handler that calls others, and does not care, passes on what they say.
        case let error as WAMPError where error.code == .refused: self.init(error.uri ?? WAMPURI.Error.runtimeError, error.arguments)
        case is CancellationError: self.init(WAMPURI.Error.canceled)
        case let error as WAMPError where error.code == .cancelled: self.init(WAMPURI.Error.canceled)
        default: self = others(error)
        }
    }
}
