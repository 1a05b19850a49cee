import Foundation
import HTTPTypes
import Holdfast
import HoldfastServer
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RoomCore

/// Everything that the hub serves over plain HTTP: its page, its status, its metrics, and the API.
struct HubPages: Sendable {
    /// The paths that are always answered, also for connections beyond the limit.
    private static let probes: Set = ["/healthz", "/readyz", "/metrics"]
    /// The maximum length of a request to the API, in bytes.
    static let mostBytes = 256 * 1024

    let core: HubCore
    let log: SQLiteRoomLog
    let status: HubStatus
    let registry: PrometheusRegistry
    let configuration: HubConfiguration

    /// Creates the server for requests on the hub's port that are not WebSocket upgrades.
    func guests() -> GuestServer {
        let (responder, logger) = (router().buildResponder(), configuration.logger)
        let respond = { @Sendable (request: Request, peer: SocketAddress?) async -> Response in
            do {
                return try await responder.respond(
                    to: request, context: HubRequestContext(source: HubRequestSource(logger: logger, peer: peer)))
            } catch {
                logger.error("a request failed", metadata: ["path": "\(request.uri.path)", "reason": "\(error)"])
                return Response(status: .internalServerError)
            }
        }
        let limit = GuestLimit(
            most: min(Int(clamping: configuration.http.connections), configuration.server.maximumConnections / 2),
            perAddress: configuration.isBehindProxy ? .max : Int(clamping: max(configuration.http.perAddress, 1)))
        var server = GuestServer(
            permit: { limit.permit($0) },
            answer: { exchange in
                let response =
                    if let request = Request(exchange.request, body: RequestBody(asyncSequence: exchange.body)) {
                        await respond(request, exchange.channel.remoteAddress)
                    } else { Response.text(.badRequest, "The request needs exactly one Host and a valid method.\n") }
                do {
                    try await exchange.begin(ResponseHead(response.head), length: response.body.contentLength)
                    try await response.body.write(ExchangeWriter(exchange: exchange))
                } catch {
                    logger.debug("a response was not delivered", metadata: ["path": "\(exchange.request.path)", "reason": "\(error)"])
                }
            },
            turnAway: { head, peer in
                guard Self.probes.contains(head.path), let request = Request(head, body: RequestBody(buffer: ByteBuffer())) else {
                    let reason = "There are too many HTTP connections, in all or from this address.\n"
                    return HoldfastServer.HTTPResponse(
                        status: 503, headers: ["Retry-After": "5", "Content-Type": "text/plain"], body: Array(reason.utf8))
                }
                return await HoldfastServer.HTTPResponse(respond(request, peer))
            })
        (server.times.request, server.times.write) = (configuration.http.request, configuration.http.write)
        return server
    }

    private func router() -> Router<HubRequestContext> {
        let router = Router(context: HubRequestContext.self, options: .autoGenerateHeadEndpoints)
        for path: RouterPath in ["/", "/status", "/page/**"] { router.get(path) { request, _ in page(request.uri.path) } }
        router.get("/healthz") { _, _ in Response.text(.ok, "alive\n") }
        router.get("/readyz") { _, _ in await readiness() }
        let origins = OriginPolicy(allowed: configuration.origins, isStrict: true)
        let local = KeyMiddleware.Local(origins: origins, isSecure: configuration.server.tls != nil)
        let keyCheck = KeyMiddleware(keys: configuration.apiKeys, local: configuration.isBehindProxy ? nil : local)
        let insight = router.group().add(middleware: keyCheck)
        insight.get("/metrics") { _, _ in
            Response.text(.ok, registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
        }
        insight.get("/status.json") { _, _ in Response.json(.ok, await status.detailed()?.json ?? Array("{}".utf8)) }
        insight.get("/status/stream") { _, _ in stream() }
        let api = router.group("/api").add(middleware: KeyMiddleware(keys: configuration.apiKeys, local: nil))
        api.post("/rooms/:room/messages") { request, context in try await publish(request, in: try room(context)) }
        api.get("/rooms/:room/messages") { request, context in try await history(request, of: try room(context)) }
        api.get("/rooms/:room/export") { _, context in await export(try room(context)) }
        api.post("/backup") { _, _ in await backup() }
        return router
    }

    private func page(_ path: String) -> Response {
        guard let file = HubPage.file(for: path) else { return .text(.notFound, "There is no such page.\n") }
        var headers = HTTPFields()
        for (name, value) in HubPage.headers { if let name = HTTPField.Name(name) { headers[name] = value } }
        headers[.contentType] = file.type
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: file.bytes))
    }

    private func readiness() async -> Response {
        if core.host.isStopping { return .text(.serviceUnavailable, "the hub is stopping\n") }
        if case .failing(let error) = await log.health { return .text(.serviceUnavailable, "\(error)\n") }
        if log.space(within: configuration.quotas) ?? 1 <= 0 { return .text(.serviceUnavailable, "the log's disk is full\n") }
        return .text(.ok, "ready\n")
    }

    /// Streams the status once per second, as server-sent events.
    private func stream() -> Response {
        guard let reports = status.watch() else { return .text(.serviceUnavailable, "there are too many watchers already\n") }
        let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                for await report in reports {
                    var event = ByteBuffer(string: "data: ")
                    event.writeBytes(report)
                    event.writeStaticString("\n\n")
                    try await writer.write(event)
                }
                try await writer.finish(nil)
            })
    }

    private func room(_ context: HubRequestContext) throws -> RoomName {
        guard let name = context.parameters.get("room")?.removingPercentEncoding, let room = RoomName(name) else {
            throw HTTPError(.badRequest, message: "a room's name must have 1 to 128 bytes of UTF-8 and no control characters")
        }
        return room
    }
}

/// A request and its origin.
struct HubRequestContext: RequestContext {
    typealias Source = HubRequestSource

    var coreContext: CoreRequestContextStorage
    /// Whether the client is on this machine; see ``Caller/isLocal`` for clients behind a proxy.
    let isLoopback: Bool

    init(source: HubRequestSource) {
        coreContext = CoreRequestContextStorage(source: source)
        isLoopback = Caller.isLoopback(source.peer?.ipAddress ?? "")
    }
}

/// What is known of a request before it is processed.
struct HubRequestSource: RequestContextSource {
    let logger: Logger
    let peer: SocketAddress?
}

/// Requires an API key.
struct KeyMiddleware: RouterMiddleware {
    /// The conditions for clients on this machine, which need no key.
    struct Local {
        let origins: OriginPolicy
        let isSecure: Bool

        /// Returns why a request is refused; nil if it is not.
        ///
        /// A page from another site also sends its requests from this machine, through the visitor's browser.
        func refusal(of request: Request) -> String? {
            if let site = HTTPField.Name("Sec-Fetch-Site").flatMap({ request.headers[$0] }), !["same-origin", "none"].contains(site) {
                return "Pages from other sites may not read this."
            }
            var headers = HeaderFields()
            for origin in request.headers[values: .origin] { headers.add("Origin", origin) }
            if let host = request.head.authority { headers.add("Host", host) }
            return origins.refusal(of: RequestHead(target: "/", headers: headers), isSecure: isSecure)
        }
    }

    let keys: [String]
    /// nil: clients on this machine need a key like all others.
    let local: Local?

    func handle(
        _ request: Request, context: HubRequestContext, next: @concurrent (Request, HubRequestContext) async throws -> Response
    ) async throws -> Response {
        var refusal: String?
        if let local, context.isLoopback, !request.isForwarded, Caller.isLoopbackName(request.head.authority) {
            refusal = local.refusal(of: request)
            if refusal == nil { return try await next(request, context) }
        }
        if let shown = Caller.bearer(request.headers[.authorization]), keys.reduce(false, { $1.isSame(as: shown) || $0 }) {
            return try await next(request, context)
        }
        if let refusal { return .text(.forbidden, refusal + "\n") }
        return .text(
            .unauthorized, keys.isEmpty ? "This hub has no API keys.\n" : "An API key is required: Authorization: Bearer …\n",
            headers: [.wwwAuthenticate: "Bearer"])
    }
}

extension String {
    /// Compares in constant time, so that the duration does not reveal how much matched.
    fileprivate func isSame(as other: String) -> Bool {
        let (one, two) = (Array(utf8), Array(other.utf8))
        guard one.count == two.count else { return false }
        return zip(one, two).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension Request {
    fileprivate var isForwarded: Bool {
        ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"].contains { name in HTTPField.Name(name).map { headers[$0] != nil } ?? false }
    }
}

extension Response {
    static func text(
        _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8", headers: HTTPFields = HTTPFields()
    ) -> Response {
        var headers = headers
        headers[.contentType] = type
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    static func json(_ status: HTTPResponse.Status, _ bytes: [UInt8], headers: HTTPFields = HTTPFields()) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
