import Foundation
import Holdfast

/// Does TLS and no more, offering HTTP/2 besides HTTP/1.1; if nobody vouches for the chain, looks at it all the same.
enum SecurityProbe {
    static func run(_ errand: Errand) async throws(TransportError) -> SecurityView {
        var options = errand.options
        options.tls.applicationProtocols = ["h2", "http/1.1"]
        var view = SecurityView(isUnverified: options.tls.isInsecure)
        options.tls.isInsecure = false
        do throws(TransportError) {
            view.take(try await look(options, isUnverified: view.isUnverified))
        } catch {
            guard TransportError.Code.trustFailures.contains(error.code) else { throw error }
            view.distrust = SecurityView.Distrust(code: error.code.description, text: error.detail)
            // What it shows explains the failure; if TLS itself fails there is nothing more to see.
            if let link = try? await look(options, isUnverified: true) { view.take(link) }
        }
        return view
    }

    private static func look(_ options: ClientOptions, isUnverified: Bool) async throws(TransportError) -> ByteLink {
        let link = try await NIOConnector.bytes(options, isUnverified: isUnverified)
        link.close()
        return link
    }
}

extension SecurityView {
    fileprivate mutating func take(_ link: ByteLink) {
        guard let security = link.security else { return }
        let now = Int64(Date().timeIntervalSince1970)
        (version, handshakeMs) = (security.version, link.secured?.ms)
        chain = security.chain.map { Certificate($0, now: now) }
        choosesHTTP2 = security.applicationProtocol == "h2"
    }
}
