import Foundation
import WebSocketApple
import WebSocketCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The requests of a connection with long polling, over a `URLSession` of its own, so that cookies are not shared by accident.
///
/// SAFETY: `lock` protects the mutable state; the system's objects may be used from any thread.
final class EngineRequests: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    typealias Answer = @Sendable (Result<[UInt8], SystemFailure>) -> Void
    private struct Exchange {
        let answer: Answer
        var body: [UInt8] = []
        var isTooLarge = false
    }
    private let request: SystemRequest
    /// The maximum size of an answer, in bytes.
    private let limit: Int
    /// The type of the bodies that are sent.
    private let bodyType: String
    private let lock = NSLock()
    private var session: URLSession?
    private var pending: [Int: Exchange] = [:]
    private var verdict: SystemFailure?
    private var number = 0

    init(_ request: SystemRequest, limit: Int, bodyType: String) {
        (self.request, self.limit, self.bodyType) = (request, limit, bodyType)
        super.init()
        let configuration = URLSessionConfiguration.ephemeral
        // Stale answers must not be repeated.
        (configuration.urlCache, configuration.requestCachePolicy) = (nil, .reloadIgnoringLocalCacheData)
        #if canImport(Darwin)
            configuration.tlsMinimumSupportedProtocolVersion = request.trust.options.minimumVersion == .tls13 ? .TLSv13 : .TLSv12
        #endif
        // The session keeps its delegate until ``cancel()``.
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    /// The URL of the WebSocket for the same connection, and the cookies by which a load balancer finds its server.
    func webSocket(sid: String) -> (url: String, cookies: String?) {
        let cookies = URL(string: address(sid: sid)).flatMap { session?.configuration.httpCookieStorage?.cookies(for: $0) } ?? []
        let header = cookies.isEmpty ? nil : cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
        return (request.url + "&sid=" + Self.escaped(sid), header)
    }

    /// Starts a GET, or a POST with this body.
    func start(_ body: [UInt8]?, sid: String?, _ answer: @escaping Answer) {
        guard let url = URL(string: address(sid: sid)), let session else {
            return answer(.failure(SystemFailure(domain: SystemFailure.url, code: -1000, detail: "the system cannot read the URL")))
        }
        var request = URLRequest(url: url)
        for field in self.request.headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
        // On a connection that it has used before, the system may repeat a request that was lost. Then the server would carry out an event
        // twice, or this client would miss the packets of the lost answer.
        request.setValue("close", forHTTPHeaderField: "Connection")
        // The heartbeat of the server decides when a request has taken too long.
        request.timeoutInterval = 200_000
        if let body {
            (request.httpMethod, request.httpBody) = ("POST", Data(body))
            request.setValue(bodyType, forHTTPHeaderField: "Content-Type")
        }
        let task = session.dataTask(with: request)
        lock.withLock { pending[task.taskIdentifier] = Exchange(answer: answer) }
        task.resume()
    }

    /// Ends all requests, whose answers are not reported any more.
    func cancel() {
        lock.withLock { pending = [:] }
        session?.invalidateAndCancel()
    }

    private func address(sid: String?) -> String {
        let number = lock.withLock {
            self.number += 1
            return self.number
        }
        let secure = request.url.hasPrefix("wss:")
        let rest = request.url.dropFirst(secure ? 3 : 2).replacing("transport=websocket", with: "transport=polling", maxReplacements: 1)
        // Some proxies cache in spite of the header fields.
        return (secure ? "https" : "http") + rest + "&t=\(number)" + (sid.map { "&sid=" + Self.escaped($0) } ?? "")
    }

    private static func escaped(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }

    // MARK: - URLSessionDataDelegate

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = lock.withLock {
            guard let count = pending[dataTask.taskIdentifier]?.body.count, count + data.count <= limit else {
                pending[dataTask.taskIdentifier]?.isTooLarge = true
                return true
            }
            pending[dataTask.taskIdentifier]?.body += data
            return false
        }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let ended = lock.withLock { pending.removeValue(forKey: task.taskIdentifier) }
        guard let ended else { return }
        if let verdict = lock.withLock({ verdict }) { return ended.answer(.failure(verdict)) }
        if ended.isTooLarge {
            let failure = SystemFailure(domain: SystemFailure.url, code: -1103, detail: "an answer is larger than \(limit) bytes")
            return ended.answer(.failure(failure))
        }
        let status = (task.response as? HTTPURLResponse)?.statusCode
        if error == nil, status == 200 { return ended.answer(.success(ended.body)) }
        if let status, status != 200 {
            // The body stays out of the description: it may repeat a secret of the URL.
            var failure = SystemFailure(domain: SystemFailure.url, code: -1011, detail: "the server answered \(status)")
            failure.response = ResponseHead(task.response)
            return ended.answer(.failure(failure))
        }
        let detail = error?.localizedDescription ?? "the request failed"
        // An answer that ends too early is a bad one for the system. It is no reason to give up.
        let code = (error as? URLError)?.errorCode ?? -1
        ended.answer(.failure(SystemFailure(domain: SystemFailure.url, code: code == -1011 ? -1005 : code, detail: detail)))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The headers, with their credentials, were meant for this server only. Without a new request, a redirect is a refusal.
        completionHandler(nil)
    }

    #if canImport(Darwin)
        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust else {
                return completionHandler(.performDefaultHandling, nil)
            }
            guard let verdict = request.trust.verdict(on: trust) else {
                return completionHandler(.useCredential, URLCredential(trust: trust))
            }
            var failure = SystemFailure(domain: SystemFailure.url, code: -1202, detail: "the server is not trusted")
            failure.verdict = verdict
            lock.withLock { self.verdict = failure }
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    #endif
}

extension ResponseHead {
    /// Converts the head of an HTTP response; nil if there is none.
    fileprivate init?(_ response: URLResponse?) {
        guard let response = response as? HTTPURLResponse else { return nil }
        var headers = HeaderFields()
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers.add(name, value) }
        }
        self.init(status: response.statusCode, headers: headers)
    }
}
