// The declarations of Foundation that the Apple-only files use. Each is below the page of Apple's documentation that it is taken from
// (https://developer.apple.com/documentation/foundation/…), with the sendability of the headers of Xcode 16.
@_exported import Darwin
@_exported import Dispatch

// nsobject, nsobjectprotocol (Objective-C runtime)
public protocol NSObjectProtocol: AnyObject {}
open class NSObject: NSObjectProtocol { public init() {} }

// nslock, nslocking/withlock(_:)
open class NSLock: NSObject, @unchecked Sendable {
    public func withLock<R>(_ body: () throws -> R) rethrows -> R { try body() }
}

// data
public struct Data: RandomAccessCollection, Hashable, Sendable {
    public typealias Index = Int
    public typealias Element = UInt8
    public init<S: Sequence>(_ elements: S) where S.Element == UInt8 {}
    public var startIndex: Int { fatalError() }
    public var endIndex: Int { fatalError() }
    public subscript(index: Int) -> UInt8 { fatalError() }
}

// data/init(from:), data/encode(to:)
extension Data: Codable {
    public init(from decoder: any Decoder) throws { fatalError() }
    public func encode(to encoder: any Encoder) throws {}
}

// jsonencoder/encode(_:), jsondecoder/decode(_:from:)
open class JSONEncoder: @unchecked Sendable {
    public init() {}
    open func encode<T: Encodable>(_ value: T) throws -> Data { fatalError() }
}
open class JSONDecoder: @unchecked Sendable {
    public init() {}
    open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}

// timeinterval, date, date/timeintervalsince1970, date/timeintervalsince(_:)
public typealias TimeInterval = Double
public struct Date: Hashable, Sendable {
    public init() {}
    public init(timeIntervalSince1970: TimeInterval) {}
    public var timeIntervalSince1970: TimeInterval { fatalError() }
    public func timeIntervalSince(_ date: Date) -> TimeInterval { fatalError() }
}

// date/formatted(_:), date/formatstyle, and its symbols
@available(macOS 12.0, iOS 15.0, *)
public protocol FormatStyle: Hashable, Sendable {
    associatedtype FormatInput
    associatedtype FormatOutput
}
@available(macOS 12.0, iOS 15.0, *)
extension Date {
    public struct FormatStyle: Foundation.FormatStyle {
        public typealias FormatInput = Date
        public typealias FormatOutput = String
        public enum Symbol {
            public struct Weekday: Sendable { public static let wide = Weekday() }
            public struct Month: Sendable { public static let wide = Month() }
        }
        public func hour() -> FormatStyle { self }
        public func minute() -> FormatStyle { self }
        public func weekday(_ format: Symbol.Weekday) -> FormatStyle { self }
        public func day() -> FormatStyle { self }
        public func month(_ format: Symbol.Month) -> FormatStyle { self }
        public func year() -> FormatStyle { self }
    }
    public func formatted<F: Foundation.FormatStyle>(_ format: F) -> F.FormatOutput where F.FormatInput == Date { fatalError() }
}
@available(macOS 12.0, iOS 15.0, *)
extension FormatStyle where Self == Date.FormatStyle { public static var dateTime: Date.FormatStyle { fatalError() } }

// timezone/autoupdatingcurrent, timezone/secondsfromgmt(for:)
public struct TimeZone: Hashable, Sendable {
    public static var autoupdatingCurrent: TimeZone { fatalError() }
    public func secondsFromGMT(for date: Date = Date()) -> Int { fatalError() }
}

// bundle/localizedstring(forkey:value:table:)
open class Bundle: NSObject, @unchecked Sendable {
    public class var main: Bundle { fatalError() }
    open func localizedString(forKey key: String, value: String?, table tableName: String?) -> String { fatalError() }
}

// url, url/init(fileurlwithpath:isdirectory:), url/setresourcevalues(_:)
public struct URL: Hashable, Sendable {
    public init?(string: String) {}
    public init(fileURLWithPath path: String, isDirectory: Bool) {}
    public mutating func setResourceValues(_ values: URLResourceValues) throws {}
}

// urlresourcevalues, urlresourcevalues/isexcludedfrombackup
public struct URLResourceValues: Sendable {
    public init() {}
    public var isExcludedFromBackup: Bool?
}

// fileattributekey, fileattributekey/protectionkey
public struct FileAttributeKey: Hashable, Sendable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let protectionKey = FileAttributeKey(rawValue: "")
}

// fileprotectiontype, fileprotectiontype/completeuntilfirstuserauthentication
@available(macOS 11.0, iOS 4.0, *)
public struct FileProtectionType: Hashable, Sendable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let completeUntilFirstUserAuthentication = FileProtectionType(rawValue: "")
}

// filemanager/default, …/fileexists(atpath:), …/setattributes(_:ofitematpath:)
open class FileManager: NSObject, @unchecked Sendable {
    public class var `default`: FileManager { fatalError() }
    open func fileExists(atPath path: String) -> Bool { fatalError() }
    open func contentsOfDirectory(atPath path: String) throws -> [String] { fatalError() }
    open func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath path: String) throws {}
}

// nserror/localizeddescription, seen through Error
extension Error { public var localizedDescription: String { fatalError() } }

// urlerror, urlerror/errorcode
public struct URLError: Error, Sendable { public var errorCode: Int { fatalError() } }

// posixerror, posixerrorcode
public enum POSIXErrorCode: Int32, Sendable { case EPERM = 1 }
public struct POSIXError: Error, Sendable { public var code: POSIXErrorCode { fatalError() } }

// notification, notification/name
public struct Notification {
    public struct Name: Hashable, Sendable, RawRepresentable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
    public var name: Name { fatalError() }
}

// operationqueue/main
open class OperationQueue: NSObject, @unchecked Sendable { public class var main: OperationQueue { fatalError() } }

// notificationcenter, …/addobserver(forname:object:queue:using:), …/removeobserver(_:)
open class NotificationCenter: NSObject, @unchecked Sendable {
    public class var `default`: NotificationCenter { fatalError() }
    open func addObserver(
        forName name: Notification.Name?, object: Any?, queue: OperationQueue?, using block: @escaping @Sendable (Notification) -> Void
    ) -> any NSObjectProtocol { fatalError() }
    open func removeObserver(_ observer: Any) {}
}

// urlrequest
public struct URLRequest: Hashable, Sendable {
    public init(url: URL) {}
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {}
}

// urlresponse, httpurlresponse/statuscode, httpurlresponse/allheaderfields
open class URLResponse: NSObject, @unchecked Sendable {}
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    open var statusCode: Int { fatalError() }
    open var allHeaderFields: [AnyHashable: Any] { fatalError() }
}

// urlprotectionspace, urlcredential, urlauthenticationchallenge
open class URLProtectionSpace: NSObject, @unchecked Sendable {
    open var authenticationMethod: String { fatalError() }
    open var host: String { fatalError() }
}
open class URLCredential: NSObject, @unchecked Sendable {}
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    open var protectionSpace: URLProtectionSpace { fatalError() }
}
// nsurlauthenticationmethodservertrust
public let NSURLAuthenticationMethodServerTrust = ""

// urlsessionconfiguration/ephemeral
open class URLSessionConfiguration: NSObject, @unchecked Sendable {
    public class var ephemeral: URLSessionConfiguration { fatalError() }
}

// urlsessiontask
open class URLSessionTask: NSObject, @unchecked Sendable {
    open func resume() {}
    open var response: URLResponse? { fatalError() }
}

// urlsessionwebsockettask
@available(macOS 10.15, iOS 13.0, *)
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    // urlsessionwebsockettask/closecode: an NS_ENUM, so every number makes one, although that initializer is failable
    public enum CloseCode: Int, @unchecked Sendable { case invalid = 0, normalClosure = 1000, goingAway = 1001 }
    // urlsessionwebsockettask/message
    @nonexhaustive public enum Message: Sendable { case data(Data), string(String) }
    open func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    open func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {}
    open func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    open func cancel(with closeCode: CloseCode, reason: Data?) {}
    open var maximumMessageSize: Int { get { fatalError() } set {} }
}

// urlsessiondelegate, urlsessiontaskdelegate, urlsessionwebsocketdelegate; their requirements are optional
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
}
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
    // urlsessiontaskdelegate/urlsession(_:task:willperformhttpredirection:newrequest:completionhandler:)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void)
}
@available(macOS 10.15, iOS 13.0, *)
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?)
    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?)
}

// urlsession
open class URLSession: NSObject, @unchecked Sendable {
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }
    public init(configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue queue: OperationQueue?) {}
    open func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask { fatalError() }
    open func finishTasksAndInvalidate() {}
    open func invalidateAndCancel() {}
}
