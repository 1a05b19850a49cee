import Holdfast

extension Wire {
    /// Connects and asks for a WebSocket.
    ///
    /// - Parameter change: What is to be asked otherwise than the errand says.
    static func open(
        _ errand: Errand, deflate: DeflatePreferences? = nil, change: (inout ClientOptions) -> Void = { _ in }
    ) async throws(Failure) -> Wire {
        var options = errand.options
        change(&options)
        var view = UpgradeView()
        view.offer(options.subprotocols)
        do throws(TransportError) {
            let handshake = try request(options, deflate)
            let link = try await NIOConnector.bytes(options)
            (view.remote, view.connectMs, view.tlsMs) = (link.remote, link.connected.ms, link.secured?.ms)
            do throws(TransportError) {
                return try await upgrade(link, handshake, errand, &view)
            } catch {
                link.close()
                throw error
            }
        } catch {
            view.failure = UpgradeView.Failure(
                code: error.code.description, text: error.detail, body: String(decoding: error.body, as: UTF8.self))
            if let response = error.response { view.take(response) }
            throw Failure(view: view)
        }
    }

    private static func request(
        _ options: ClientOptions, _ deflate: DeflatePreferences?
    ) throws(TransportError) -> (handshake: ClientHandshake, bytes: [UInt8]) {
        do throws(HandshakeFailure) {
            var random = SystemRandomNumberGenerator()
            let handshake = try ClientHandshake(
                url: options.url, subprotocols: options.subprotocols, deflate: deflate, headers: options.headers, using: &random)
            return (handshake, try handshake.request.encoded())
        } catch {
            throw TransportError(.invalidConfiguration, "\(error)", underlying: error)
        }
    }

    private static func upgrade(
        _ link: ByteLink, _ request: (handshake: ClientHandshake, bytes: [UInt8]), _ errand: Errand, _ view: inout UpgradeView
    ) async throws(TransportError) -> Wire {
        let (start, deadline) = (ContinuousClock.now, errand.deadline())
        link.send(request.bytes)
        var parser = HeadParser<ResponseHead>(limit: errand.options.headLimit)
        var bytes: [UInt8] = []
        while true {
            let parsed = bytes.withUnsafeBytes { bytes in
                var rest = bytes
                let head = Result { () throws(HandshakeFailure) in try parser.parse(&rest) }
                return (head: head, rest: Array(rest))
            }
            bytes = parsed.rest
            let head: ResponseHead?
            do throws(HandshakeFailure) { head = try parsed.head.get() } catch {
                throw TransportError(.invalidHandshake, "what the server answered is not HTTP: \(error)", underlying: error)
            }
            if let head, !head.isInterim {
                view.answerMs = start.duration(to: .now).ms
                view.take(head)
                return try await judge(head, bytes, link, request.handshake, deadline, &view)
            }
            if head != nil { continue }
            bytes = try await more(link, deadline)
        }
    }

    private static func more(_ link: ByteLink, _ deadline: ContinuousClock.Instant) async throws(TransportError) -> [UInt8] {
        switch await link.next(within: deadline.remaining) {
        case .bytes(let bytes): return bytes
        case .nothing: throw TransportError(.timedOut, "the server did not answer the upgrade in time")
        case .end(let error): throw error ?? TransportError(.lost, "the server hung up without an answer to the upgrade")
        }
    }

    private static func judge(
        _ head: ResponseHead, _ rest: [UInt8], _ link: ByteLink, _ handshake: ClientHandshake, _ deadline: ContinuousClock.Instant,
        _ view: inout UpgradeView
    ) async throws(TransportError) -> Wire {
        do throws(HandshakeFailure) {
            let agreement = try handshake.check(head)
            view.take(agreement)
            return Wire(link, view: view, deflate: agreement.deflate, rest: rest)
        } catch  where error.kind == .refused {
            var failure = TransportError(.refused, "the server answered \(head)", underlying: error)
            failure.response = head
            failure.body = await body(of: head, rest, link, deadline)
            throw failure
        } catch {
            throw TransportError(.invalidHandshake, "the server answered 101, but wrongly: \(error)", underlying: error)
        }
    }

    /// The first bytes of a refusal's body, as far as they come soon.
    private static func body(
        of head: ResponseHead, _ rest: [UInt8], _ link: ByteLink, _ deadline: ContinuousClock.Instant
    ) async -> [UInt8] {
        var body = RefusalBody(of: head, limit: 300)
        var bytes = rest
        let deadline = min(deadline, .now + .seconds(1))
        while !bytes.withUnsafeBytes({ body.append($0) }), case .bytes(let more) = await link.next(within: deadline.remaining) {
            bytes = more
        }
        return body.bytes
    }
}
