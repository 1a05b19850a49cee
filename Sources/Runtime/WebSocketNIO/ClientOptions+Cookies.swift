import WebSocketCore
import WebSocketRuntime

extension ClientOptions {
    /// With the cookies that go along to this URL, and to no other that a redirect leads to.
    var withCookies: ClientOptions {
        var options = self
        cookies?.jar.add(to: &options.headers, for: url, at: TrustGate.now)
        return options
    }

    /// Takes in what the server has set, whatever else it answered.
    func keepCookies(of response: ResponseHead) { cookies?.take(response.headers, from: url, at: TrustGate.now) }
}
