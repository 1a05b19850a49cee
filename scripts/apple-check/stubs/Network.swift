// https://developer.apple.com/documentation/network/…
@_exported import Foundation
import Security
// nwinterface, nwinterface/interfacetype
@available(macOS 10.14, iOS 12.0, *)
public struct NWInterface: Hashable, Sendable {
    @nonexhaustive public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
    public let type: InterfaceType
    public let name: String
}
// nwpath, nwpath/status-swift.enum
@available(macOS 10.14, iOS 12.0, *)
public struct NWPath: Equatable, Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status
    public let availableInterfaces: [NWInterface]
    public let isExpensive: Bool
    @available(macOS 10.15, iOS 13.0, *)
    public var isConstrained: Bool { fatalError() }
}
// nwpathmonitor; Sendable only from iOS 17 and macOS 14
@available(macOS 10.14, iOS 12.0, *)
public final class NWPathMonitor {
    @preconcurrency public final var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? { get { fatalError() } set {} }
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
    public init() {}
}
@available(macOS 14.0, iOS 17.0, *)
extension NWPathMonitor: @unchecked Sendable {}
// nwprotocoltls/options, nwprotocoltls/options/securityprotocoloptions
@available(macOS 10.14, iOS 12.0, *)
public class NWProtocolOptions { init() {} }
@available(macOS 10.14, iOS 12.0, *)
public enum NWProtocolTLS {
    public class Options: NWProtocolOptions {
        public override init() {}
        public var securityProtocolOptions: sec_protocol_options_t { fatalError() }
    }
}
