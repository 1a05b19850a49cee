#if canImport(Darwin)
    package import Foundation
    import Security
    package import WebSocketCore
    import WebSocketRuntime

    /// The system's own WebSocket with its own session, so that cookies and credentials are not shared by accident.
    ///
    /// SAFETY: mutable state is protected by `lock`; the system's objects may be used from any thread.
    package final class URLSessionSocket: NSObject, SystemSocket, URLSessionWebSocketDelegate, @unchecked Sendable {
        private let request: SystemRequest
        private let lock = NSLock()
        private var handle: (@Sendable (SystemEvent) -> Void)?
        private var session: URLSession?
        private var task: URLSessionWebSocketTask?
        private var verdict: TransportError?

        /// Creates a socket that has not started.
        package init(_ request: SystemRequest) {
            self.request = request
            super.init()
        }

        package func start(_ handle: @escaping @Sendable (SystemEvent) -> Void) {
            guard let url = URL(string: request.url) else {
                return handle(.ended(SystemFailure(domain: SystemFailure.url, code: -1000, detail: "the system cannot read the URL")))
            }
            var request = URLRequest(url: url)
            for field in self.request.headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.tlsMinimumSupportedProtocolVersion = self.request.trust.options.minimumVersion == .tls13 ? .TLSv13 : .TLSv12
            // The session keeps its delegate until it is invalidated, which happens when the task ends.
            let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
            let task = session.webSocketTask(with: request)
            task.maximumMessageSize = self.request.messageLimit
            lock.withLock { (self.handle, self.session, self.task) = (handle, session, task) }
            task.resume()
        }

        package func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void) {
            present?.receive { result in take(Self.message(result)) }
        }

        package func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void) {
            present?.send(Self.message(message)) { error in done(error.map(SystemFailure.init)) }
        }

        package func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void) {
            present?.sendPing { error in done(error.map(SystemFailure.init)) }
        }

        package func close(code: Int, reason: [UInt8]) {
            // An imported enumeration accepts every number; if it ever did not, 1000 would be the most neutral code.
            let code = URLSessionWebSocketTask.CloseCode(rawValue: code) ?? .normalClosure
            present?.cancel(with: code, reason: reason.isEmpty ? nil : Data(reason))
        }

        package func abort() { lock.withLock { session }?.invalidateAndCancel() }

        private var present: URLSessionWebSocketTask? { lock.withLock { task } }

        private static func message(_ result: Result<URLSessionWebSocketTask.Message, any Error>) -> Result<Message, SystemFailure> {
            switch result {
            case .success(.data(let data)): .success(.binary(Array(data)))
            case .success(.string(let text)): .success(.text(text))
            case .success: .failure(SystemFailure(domain: "Holdfast", code: 0, detail: "the system delivered a message of an unknown kind"))
            case .failure(let error): .failure(SystemFailure(error))
            }
        }

        private static func message(_ message: Message) -> URLSessionWebSocketTask.Message {
            switch message {
            case .text(let text): .string(text)
            case .binary(let bytes): .data(Data(bytes))
            }
        }

        // MARK: - URLSessionWebSocketDelegate

        package func urlSession(_ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol subprotocol: String?) {
            let response = ResponseHead(webSocketTask.response) ?? ResponseHead(status: 101)
            lock.withLock { handle }?(.opened(Agreement(subprotocol: subprotocol, response: response)))
        }

        package func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
            reason: Data?
        ) {
            lock.withLock { handle }?(.closed(code: closeCode.rawValue, reason: reason.map { Array($0) } ?? []))
        }

        package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            var failure = error.map(SystemFailure.init)
            failure?.response = ResponseHead(task.response)
            let handle = lock.withLock {
                failure?.verdict = verdict
                defer { self.handle = nil }
                return self.handle
            }
            handle?(.ended(failure))
            session.finishTasksAndInvalidate()
        }

        package func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            // The headers, with their credentials, were meant for this server only. Without a new request, a redirect is a refusal.
            completionHandler(nil)
        }

        package func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust else {
                return completionHandler(.performDefaultHandling, nil)
            }
            let verdict = request.trust.verdict(on: trust)
            lock.withLock { self.verdict = verdict }
            if verdict == nil {
                completionHandler(.useCredential, URLCredential(trust: trust))
            } else {
                completionHandler(.cancelAuthenticationChallenge, nil)
            }
        }
    }

    extension SystemFailure {
        init(_ error: any Error) {
            let (domain, code) =
                switch error {
                case let error as URLError: (Self.url, error.errorCode)
                case let error as POSIXError: (Self.posix, Int(error.code.rawValue))
                default: (String(describing: type(of: error)), 0)
                }
            self.init(domain: domain, code: code, detail: error.localizedDescription)
        }
    }

    extension ResponseHead {
        /// Converts the head of an HTTP response; nil if there is none.
        init?(_ response: URLResponse?) {
            guard let response = response as? HTTPURLResponse else { return nil }
            var headers = HeaderFields()
            for (name, value) in response.allHeaderFields {
                guard let name = name as? String, let value = value as? String else { continue }
                headers.add(name, value)
            }
            self.init(status: response.statusCode, headers: headers)
        }
    }
#endif
