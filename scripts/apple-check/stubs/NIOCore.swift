// The declarations of SwiftNIO that WebSocketNIO/Network uses, each below its file in Sources/NIOCore.
//
// The real module needs the headers of Apple's SDK.
// EventLoop.swift
public protocol EventLoopGroup: AnyObject, Sendable {}
// Channel.swift
public protocol Channel: AnyObject, Sendable {}
// TimeAmount+Duration.swift
public struct TimeAmount: Hashable, Sendable { public init(_ duration: Duration) {} }
// EventLoopFuture.swift
public final class EventLoopFuture<Value>: @unchecked Sendable {
    public func flatMapErrorThrowing(_ callback: @escaping @Sendable (any Error) throws -> Value) -> EventLoopFuture<Value> { self }
}
// ChannelOption.swift
public protocol ChannelOption: Equatable, Sendable { associatedtype Value: Sendable }
public struct ChannelOptions: Sendable {
    public enum Types {
        public struct AutoReadOption: ChannelOption { public typealias Value = Bool }
    }
    public static let autoRead = Types.AutoReadOption()
}
