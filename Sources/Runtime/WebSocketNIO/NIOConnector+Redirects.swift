import WebSocketCore
package import WebSocketRuntime

extension NIOConnector {
    /// Connects, and follows redirects as far as the policy goes; each has all the time that a first connection has.
    package static func connectFollowing(_ options: ClientOptions) async throws(TransportError) -> WebSocketChannel {
        var (options, followed) = (options, 0)
        while true {
            do throws(TransportError) {
                let channel = try await connect(options.withCookies, on: options.group ?? defaultGroup)
                options.keepCookies(of: channel.agreement.response)
                return channel
            } catch {
                if error.code == .refused, let response = error.response { options.keepCookies(of: response) }
                guard let redirect = try options.redirect(after: error, followed: followed) else { throw error }
                try options.follow(redirect)
                followed += 1
            }
        }
    }
}

extension ClientOptions {
    /// Fields that tell a server on another origin nothing it may not know.
    private static let publicFields: Set = ["accept-language", "origin", "user-agent"]

    fileprivate func redirect(after error: TransportError, followed: Int) throws(TransportError) -> Redirect? {
        guard error.code == .refused, let response = error.response else { return nil }
        do throws(RedirectProblem) {
            return try redirects.next(after: response, from: url, followed: followed)
        } catch {
            var failure = TransportError(.refused, "\(url) answered \(response), which is not followed: \(error)", underlying: error)
            failure.response = response
            throw failure
        }
    }

    fileprivate mutating func follow(_ redirect: Redirect) throws(TransportError) {
        if redirect.leavesOrigin { tls.leaveOrigin(staysOnHost: redirect.url.host == url.host) }
        url = redirect.url
        // Another host may be reached directly, or not at all, and wss may have a proxy of its own.
        if let proxyAfterRedirect { proxy = try proxyAfterRedirect(url) }
        guard redirect.leavesOrigin else { return }
        // Which field is a credential is the app's secret, so only what is known to be none goes along.
        headers = headers.keeping(Self.publicFields)
        subprotocols = publicSubprotocols
    }
}
