// https://developer.apple.com/documentation/security/… ; without toll-free bridging: what CF types bridge to stands for them.
@_exported import Foundation
public typealias CFData = Data
public typealias CFArray = [Any]
public final class CFError: Error, @unchecked Sendable {}
public final class SecTrust {}
public final class SecCertificate {}
// sectrustevaluatewitherror(_:_:)
@available(macOS 10.14, iOS 12.0, *)
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { fatalError() }
// sectrustcopycertificatechain(_:)
@available(macOS 12.0, iOS 15.0, *)
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { fatalError() }
// seccertificatecopydata(_:)
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { fatalError() }
// foundation/urlprotectionspace/servertrust, foundation/urlcredential/init(trust:)
extension URLProtectionSpace { public var serverTrust: SecTrust? { fatalError() } }
extension URLCredential { public convenience init(trust: SecTrust) { fatalError() } }
