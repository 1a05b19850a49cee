// SwiftNIO Transport Services, each below its file in Sources/NIOTransportServices.
import NIOCore
import Network
// NIOTSConnectionBootstrap.swift
@available(macOS 10.14, iOS 12.0, *)
public final class NIOTSConnectionBootstrap {
    public init?(validatingGroup group: any EventLoopGroup) {}
    public func channelInitializer(_ handler: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>) -> Self { self }
    public func channelOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> Self { self }
    public func connectTimeout(_ timeout: TimeAmount) -> Self { self }
    public func tlsOptions(_ options: NWProtocolTLS.Options) -> Self { self }
    public func connect(host: String, port: Int) -> EventLoopFuture<any Channel> { fatalError() }
    public func connect(unixDomainSocketPath: String) -> EventLoopFuture<any Channel> { fatalError() }
}
// NIOTSChannelOptions.swift
@available(macOS 10.14, iOS 12.0, *)
public struct NIOTSChannelOptions: Sendable {
    public enum Types {
        public struct NIOTSWaitForActivityOption: ChannelOption { public typealias Value = Bool }
    }
    public static let waitForActivity = Types.NIOTSWaitForActivityOption()
}
