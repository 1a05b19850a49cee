// https://developer.apple.com/documentation/security/… ; without toll-free bridging: the bridged types replace the CF types.
@_exported import Foundation
public typealias CFData = Data
public typealias CFArray = [Any]
public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias CFIndex = Int
public typealias OSStatus = Int32
// corefoundation/cferror, corefoundation/cferrorgetcode(_:)
public final class CFError: Error, @unchecked Sendable {}
public func CFErrorGetCode(_ err: CFError!) -> CFIndex { fatalError() }
public typealias CFDictionary = [String: Any]
// errsecsuccess
public let errSecSuccess: OSStatus = 0
// secitemadd(_:_:), secitemcopymatching(_:_:), secitemupdate(_:_:), secitemdelete(_:)
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { fatalError() }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { fatalError() }
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus { fatalError() }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { fatalError() }
// ksecclass, ksecclassgenericpassword, ksecattrservice, ksecattraccount, ksecattraccessgroup, ksecattrsynchronizable, ksecvaluedata,
// ksecreturndata, ksecmatchlimit, ksecmatchlimitone
public let kSecClass: CFString = ""
public let kSecClassGenericPassword: CFString = ""
public let kSecAttrService: CFString = ""
public let kSecAttrAccount: CFString = ""
public let kSecAttrAccessGroup: CFString = ""
public let kSecAttrSynchronizable: CFString = ""
public let kSecValueData: CFString = ""
public let kSecReturnData: CFString = ""
public let kSecMatchLimit: CFString = ""
public let kSecMatchLimitOne: CFString = ""
// ksecattraccessible, ksecattraccessibleafterfirstunlockthisdeviceonly
public let kSecAttrAccessible: CFString = ""
@available(macOS 10.9, iOS 4.0, *)
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = ""
// ksecusedataprotectionkeychain
@available(macOS 10.15, iOS 13.0, *)
public let kSecUseDataProtectionKeychain: CFString = ""
public final class SecTrust {}
public final class SecCertificate {}
public final class SecPolicy {}
// sectrustevaluatewitherror(_:_:)
@available(macOS 10.14, iOS 12.0, *)
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { fatalError() }
// sectrustcopycertificatechain(_:)
@available(macOS 12.0, iOS 15.0, *)
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { fatalError() }
// seccertificatecopydata(_:), seccertificatecreatewithdata(_:_:), the allocator left at nil
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { fatalError() }
public func SecCertificateCreateWithData(_ allocator: AnyObject?, _ data: CFData) -> SecCertificate? { fatalError() }
// sectrustsetanchorcertificates(_:_:), sectrustsetanchorcertificatesonly(_:_:)
@discardableResult public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus { fatalError() }
@discardableResult public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus { fatalError() }
// sectrustsetpolicies(_:_:), secpolicycreatessl(_:_:)
@discardableResult public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus { fatalError() }
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { fatalError() }
// tls_protocol_version_t
public enum tls_protocol_version_t: UInt16, @unchecked Sendable { case TLSv10 = 0x0301, TLSv11, TLSv12, TLSv13 }
// sec_protocol_options_t, sec_protocol_metadata_t, sec_trust_t: objects
public protocol OS_sec_protocol_options: NSObjectProtocol {}
public protocol OS_sec_protocol_metadata: NSObjectProtocol {}
public protocol OS_sec_trust: NSObjectProtocol {}
public typealias sec_protocol_options_t = any OS_sec_protocol_options
public typealias sec_protocol_metadata_t = any OS_sec_protocol_metadata
public typealias sec_trust_t = any OS_sec_trust
// sec_protocol_options_set_min_tls_protocol_version(_:_:)
@available(macOS 10.15, iOS 13.0, *)
public func sec_protocol_options_set_min_tls_protocol_version(_ options: sec_protocol_options_t, _ version: tls_protocol_version_t) {}
// sec_protocol_options_add_tls_application_protocol(_:_:), sec_protocol_options_set_tls_server_name(_:_:)
@available(macOS 10.14, iOS 12.0, *)
public func sec_protocol_options_add_tls_application_protocol(_ options: sec_protocol_options_t, _ protocol: UnsafePointer<CChar>) {}
@available(macOS 10.14, iOS 12.0, *)
public func sec_protocol_options_set_tls_server_name(_ options: sec_protocol_options_t, _ server_name: UnsafePointer<CChar>) {}
// sec_protocol_verify_t, sec_protocol_verify_complete_t, sec_protocol_options_set_verify_block(_:_:_:)
public typealias sec_protocol_verify_complete_t = (Bool) -> Void
public typealias sec_protocol_verify_t = (sec_protocol_metadata_t, sec_trust_t, @escaping sec_protocol_verify_complete_t) -> Void
@available(macOS 10.14, iOS 12.0, *)
public func sec_protocol_options_set_verify_block(
    _ options: sec_protocol_options_t, _ verify_block: @escaping sec_protocol_verify_t, _ verify_block_queue: DispatchQueue
) {}
// sec_trust_copy_ref(_:)
@available(macOS 10.14, iOS 12.0, *)
public func sec_trust_copy_ref(_ trust: sec_trust_t) -> Unmanaged<SecTrust> { fatalError() }
// On Linux they are in another module.
#if !os(Linux)
    // foundation/urlprotectionspace/servertrust, foundation/urlcredential/init(trust:)
    extension URLProtectionSpace { public var serverTrust: SecTrust? { fatalError() } }
    extension URLCredential { public convenience init(trust: SecTrust) { fatalError() } }
    // foundation/urlsessionconfiguration/tlsminimumsupportedprotocolversion
    @available(macOS 10.15, iOS 13.0, *)
    extension URLSessionConfiguration {
        public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t { get { fatalError() } set {} }
    }
#endif
