import Holdfast

/// Asks for a WebSocket in another way than the user does.
enum RequestProbe {
    static func unknownPath(_ errand: Errand) async throws -> RequestView {
        let url = errand.options.url
        let other = try WebSocketURL("\(url.isSecure ? "wss" : "ws")://\(url.hostHeader)/holdfast-doctor/no-such-path")
        return await run(errand) { $0.url = other }
    }

    /// RFC 6455 §10.2: browsers tell where a page is from, so that a server can refuse those of others.
    static func wrongOrigin(_ errand: Errand) async -> RequestView {
        await run(errand) { $0.headers["Origin"] = "https://holdfast-doctor.invalid" }
    }

    private static func run(_ errand: Errand, _ change: (inout ClientOptions) -> Void) async -> RequestView {
        do {
            let wire = try await Wire.open(errand, change: change)
            await wire.leave()
            return RequestView(isAccepted: true, status: wire.view.status)
        } catch {
            return RequestView(isAccepted: false, status: error.view.status, error: error.view.status == nil ? error.description : nil)
        }
    }
}
