public import CodecCore
import Foundation
public import GraphQLCore
public import Holdfast
public import HoldfastProtocols
import ProtocolCore
import WebSocketCore
import WebSocketRuntime

/// Returns the payload of `connection_init`, such as `["token": token]`; the client asks again for every connection.
///
/// A value that encodes as null is not sent. It may throw `CredentialUnavailable` to say that asking again cannot help.
public typealias GraphQLPayload = @Sendable () async throws -> any Encodable & Sendable

/// A GraphQL client over a WebSocket that reconnects.
///
/// ```swift
/// let client = GraphQLClient("wss://example.com/graphql") { ["token": try await tokens.fresh()] }
/// for try await event in client.subscribe(ticks) {
///     switch event {
///     case .response(let response): show(response.data)
///     case .gap: reload()
///     case .undecodable(let failure): log(failure)
///     }
/// }
/// ```
/// It speaks `graphql-transport-ws` and the legacy `graphql-ws`. After a lost connection all subscriptions are sent again, and each gets a
/// ``GraphQLEvent/gap(_:)``. Queries without an answer are sent again. A mutation is never sent twice.
///
/// The client ends with ``close()``, when the server refuses it for good, or when the last reference to it and to its sequences is gone.
public final class GraphQLClient: Sendable {
    /// The socket below, with the connection's state and statistics.
    public var socket: WebSocket { client.socket }
    let client: ProtocolClient<GraphQLMachine>
    @usableFromInline let options: GraphQLOptions
    private let renewals = LockedValue<[RequestID: Renewal]>([:])
    private typealias Renewal = @Sendable () -> [UInt8]?

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - url: `wss://host/path`, or `ws://…`.
    ///   - options: The options.
    ///   - payload: Returns the payload of `connection_init`; nil: none.
    ///   - configure: Changes the options of the socket, for example its headers.
    public convenience init(
        _ url: String, options: GraphQLOptions = GraphQLOptions(), payload: GraphQLPayload? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(url) { socket in
            options.prepare(&socket)
            configure(&socket)
            // The closure may have replaced the configuration.
            socket.connection.redirectsStayInOrigin = true
        }
        self.init(over: socket, options: options, payload: payload)
    }

    /// Creates a client over an existing socket; see ``GraphQLOptions/prepare(_:)``.
    ///
    /// Nothing else should send over this socket.
    ///
    /// - Parameters:
    ///   - socket: The socket; the client keeps it alive.
    ///   - options: The options.
    ///   - clock: The clock for all delays.
    ///   - payload: Returns the payload of `connection_init`; nil: none.
    public init<C: Clock>(
        over socket: WebSocket, options: GraphQLOptions = GraphQLOptions(), clock: C = ContinuousClock(), payload: GraphQLPayload? = nil
    ) where C.Duration == Duration {
        self.options = options
        let (renewals, secrets) = (renewals, socket.secrets)
        let source = payload.map { payload in
            TokenSource(
                within: options.payloadTimeout, on: LinkTime(clock), secrets: secrets,
                payload: {
                    [UInt8](try options.encoder.encode(try await payload()))
                })
        }
        let machine = GraphQLMachine(options.policy(hasPayload: payload != nil))
        client = ProtocolClient(machine, over: socket, clock: clock) { opening throws(ConnectionEnd) in
            guard let version = opening.subprotocol.flatMap(GraphQLProtocol.init(rawValue:)) else {
                throw .close(.protocolError, reason: "the server agreed on no subprotocol of GraphQL")
            }
            var json: [UInt8]?
            do throws(TokenSource.Failure) {
                json = try await source?.payload()
            } catch {
                if case .refused = error { throw .stop }
                throw .reject(.goingAway, reason: "the app gave no payload for the connection")
            }
            let renewed = renewals.withLockedValue { $0 }.compactMapValues { $0() }
            return GraphQLCoding(version, payload: json, renewed: renewed)
        }
    }

    // MARK: - Operations

    /// Begins a subscription, which is sent again after every reconnect.
    ///
    /// It ends when the server completes it, when the sequence and its iterator are released, or when the client ends.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - delivery: What happens to events that arrive while the consumer is busy; a closure in it must not call this client. No delivery
    ///     drops a gap.
    ///   - isShared: Whether this subscription may share one on the wire with others that ask for the same operation with the same
    ///     variables. A later consumer gets the events from then on.
    ///   - renew: Returns the variables for the next connection from the last data that has arrived, for example with a cursor; nil: the
    ///     same again. Must be quick, and must not call this client. Of consumers that share, the first one's closure counts.
    @inlinable public func subscribe<Variables, Content>(
        _ operation: GraphQLOperation<Variables, Content>, delivery: StreamDelivery<GraphQLEvent<Content>> = .everyMessage(),
        isShared: Bool = false, renewing renew: (@Sendable (Content?) -> Variables)? = nil
    ) -> GraphQLEvents<GraphQLEvent<Content>> {
        // Written out here, so that the app's compiler specializes it for the type of the data.
        subscription(operation, delivery, isShared, renew) { [options] answer, event in event = GraphQLEvent(answer, options) }
    }

    @usableFromInline func subscription<Variables, Content>(
        _ operation: GraphQLOperation<Variables, Content>, _ delivery: StreamDelivery<GraphQLEvent<Content>>, _ isShared: Bool,
        _ renew: (@Sendable (Content?) -> Variables)?, _ decode: @escaping @Sendable (GraphQLAnswer, inout GraphQLEvent<Content>?) -> Void
    ) -> GraphQLEvents<GraphQLEvent<Content>> {
        events(operation, isShared, renew, decode) { key, convert, begin, cancel in
            // What `renew` gets must have arrived, not been taken: otherwise the server would send again what still waits for the consumer.
            let keepsAll = { [client] in client.keepsAll($0) }
            return client.stream(
                delivery: delivery, sharing: key, keepsAll: renew == nil ? keepsAll : nil, as: convert, isNote: \.isGap, begin,
                cancel: cancel)
        }
    }

    /// Begins a subscription whose events come in batches; otherwise as ``subscribe(_:delivery:isShared:renewing:)``.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - delivery: What happens to events that arrive while the consumer is busy.
    ///   - limit: The maximum number of events in a batch.
    ///   - window: How long an event waits at most for others to join its batch; by default not at all.
    ///   - isShared: Whether this subscription may share one on the wire.
    ///   - renew: Returns the variables for the next connection from the last data that has arrived; nil: the same again.
    public func batches<Variables, Content>(
        of operation: GraphQLOperation<Variables, Content>, delivery: StreamDelivery<GraphQLEvent<Content>> = .everyMessage(capacity: 1024),
        upTo limit: Int = .max, within window: Duration = .zero, isShared: Bool = false,
        renewing renew: (@Sendable (Content?) -> Variables)? = nil
    ) -> GraphQLEvents<[GraphQLEvent<Content>]> {
        events(operation, isShared, renew) { [options] answer, event in
            event = GraphQLEvent(answer, options)
        } _: { key, convert, begin, cancel in
            client.batches(
                delivery: delivery, upTo: limit, within: window, sharing: key, as: convert, isNote: \.isGap, begin, cancel: cancel)
        }
    }

    private func events<Variables, Content, Element>(
        _ operation: GraphQLOperation<Variables, Content>, _ isShared: Bool, _ renew: (@Sendable (Content?) -> Variables)?,
        _ decode: @escaping @Sendable (GraphQLAnswer, inout GraphQLEvent<Content>?) -> Void,
        _ start: (
            _ key: String?, _ convert: @escaping EventConversion<GraphQLMachine.Event, GraphQLEvent<Content>>,
            _ begin: (RequestID) -> GraphQLMachine.Command, _ cancel: @escaping @Sendable (RequestID) -> GraphQLMachine.Command
        ) -> ProtocolEvents<Element>
    ) -> GraphQLEvents<Element> {
        let (failure, last) = (LockedValue<GraphQLFailure?>(nil), LockedValue<Content?>(nil))
        let (options, renewals) = (options, renewals)
        do throws(GraphQLFailure) {
            let payload = try operation.payload(options.encoder)
            let key = isShared ? String(decoding: payload, as: UTF8.self) : nil
            let events = start(key) { news, event in
                switch news.content {
                case .next(let result):
                    decode(GraphQLAnswer(result), &event)
                    if renew != nil, let data = event?.data { last.withLockedValue { $0 = data } }
                    return true
                case .gap(let away):
                    event = .gap(away)
                    return true
                case .failed(let cause):
                    failure.withLockedValue { $0 = GraphQLFailure(of: cause) }
                    return false
                case .completed: return false
                }
            } _: { id in
                if let renew {
                    renewals.withLockedValue { renewals in
                        renewals[id] = { try? operation.payload(options.encoder, variables: renew(last.withLockedValue { $0 })) }
                    }
                }
                return .begin(id, PendingOperation(.subscription, payload: payload), patience: nil)
            } _: { id in
                renewals.withLockedValue { $0[id] = nil }
                return .cancel(id)
            }
            return GraphQLEvents(events, outcome: failure) { GraphQLFailure($0) }
        } catch {
            failure.withLockedValue { $0 = error }
            return GraphQLEvents(nil, outcome: failure) { GraphQLFailure($0) }
        }
    }

    /// Sends a query, and waits for its answer.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - patience: How long to wait; nil: ``GraphQLOptions/answerTimeout``.
    /// - Throws: The failure if there is no answer; an answer with errors is returned.
    public func query<Variables, Content>(
        _ operation: GraphQLOperation<Variables, Content>, within patience: Duration? = nil
    ) async throws(GraphQLFailure) -> GraphQLResponse<Content> {
        try await answer(operation, .query, within: patience)
    }

    /// Sends a mutation once, and waits for its answer.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - patience: How long to wait; nil: ``GraphQLOptions/answerTimeout``.
    /// - Throws: The failure if there is no answer. ``GraphQLFailure/mayHaveArrived`` says whether the mutation may have taken effect.
    public func mutate<Variables, Content>(
        _ operation: GraphQLOperation<Variables, Content>, within patience: Duration? = nil
    ) async throws(GraphQLFailure) -> GraphQLResponse<Content> {
        try await answer(operation, .mutation, within: patience)
    }

    private func answer<Variables, Content>(
        _ operation: GraphQLOperation<Variables, Content>, _ kind: PendingOperation.Kind, within patience: Duration?
    ) async throws(GraphQLFailure) -> GraphQLResponse<Content> {
        let run = PendingOperation(kind, payload: try operation.payload(options.encoder))
        let event: GraphQLMachine.Event
        do throws(WebSocketError) {
            event = try await client.request {
                .begin($0, run, patience: patience ?? options.answerTimeout)
            } cancel: {
                .cancel($0)
            }
        } catch {
            throw GraphQLFailure(error)
        }
        switch event.content {
        case .next(let result): return try GraphQLResponse(result, options)
        case .failed(let cause): throw GraphQLFailure(of: cause)
        case .completed, .gap: throw GraphQLFailure(.refused, mayHaveArrived: true)
        }
    }

    // MARK: - State

    /// The state of the client on its connections.
    public var state: ProtocolState { client.state }

    /// The states, starting with the present one.
    public var states: StateSequence<ProtocolState> { client.states }

    /// Waits until the server has acknowledged the connection.
    ///
    /// - Parameter patience: The time limit; nil: no limit.
    /// - Throws: `timedOut` with the last failure as its ``GraphQLFailure/underlying``, `connectionRefused`, `closed` or `cancelled`.
    public func ready(within patience: Duration? = nil) async throws(GraphQLFailure) {
        do throws(WebSocketError) { try await client.ready(within: patience) } catch {
            if let reason = client.read(\.refusal) { throw GraphQLFailure(.connectionRefused, detail: reason) }
            throw GraphQLFailure(error)
        }
    }

    /// The latest time from a ping of the protocol to its pong; nil before the first.
    public var roundTrip: Duration? { client.read(\.roundTrip) }

    /// What the server sent with its acknowledgement of the connection; nil if nothing.
    public var acknowledgement: Value? {
        client.read(\.acknowledgement).flatMap { try? Value(json: $0) }
    }

    /// Closes the client for good; returns when that is done.
    public func close() async { await client.close() }

    /// Runs in the calling task until the client ends, and closes it when the task is cancelled.
    ///
    /// - Throws: The error that ended the socket.
    public func run() async throws(WebSocketError) { try await client.run() }
}

extension ValueDecoder {
    /// Decodes the data of responses.
    fileprivate static let graphQL: ValueDecoder = {
        // The limit of the socket applies to the size. The depth has the usual limit, because event loops have small stacks.
        var options = CodecOptions(limits: CodecLimits(maximumBytes: .max))
        options.readsBase64 = true
        return ValueDecoder(options: options)
    }()
}

/// A result of an operation, before its data is decoded.
@usableFromInline struct GraphQLAnswer: Sendable {
    /// The data; nil if it is absent or null.
    @usableFromInline let json: [UInt8]?
    @usableFromInline let errors: [GraphQLError]
    @usableFromInline let extensions: ValueMap

    init(_ result: GraphQLResult) { (json, errors, extensions) = (result.data, result.errors, result.extensions) }
}

extension GraphQLEvent where Content: Decodable {
    @inlinable init(_ answer: GraphQLAnswer, _ options: GraphQLOptions) {
        do throws(GraphQLFailure) { self = .response(try GraphQLResponse(answer, options)) } catch { self = .undecodable(error) }
    }
}

extension GraphQLResponse where Content: Decodable {
    init(_ result: GraphQLResult, _ options: GraphQLOptions) throws(GraphQLFailure) { try self.init(GraphQLAnswer(result), options) }

    @inlinable init(_ answer: GraphQLAnswer, _ options: GraphQLOptions) throws(GraphQLFailure) {
        data = try Self.data(of: answer, options)
        (errors, extensions) = (answer.errors, answer.extensions)
    }

    @usableFromInline static func data(of answer: GraphQLAnswer, _ options: GraphQLOptions) throws(GraphQLFailure) -> Content? {
        guard let json = answer.json else { return nil }
        do {
            if Content.self == Value.self, let value = try Value(json: json) as? Content { return value }
            if let decoder = options.decoder { return try decoder.decode(Content.self, from: Data(json)) }
            return try ValueDecoder.graphQL.decode(Content.self, json: json)
        } catch {
            throw GraphQLFailure(.undecodable, detail: "\(Content.self)", errors: answer.errors, mayHaveArrived: true, underlying: error)
        }
    }
}

/// The events of a subscription for one consumer.
///
/// It ends when the server completes the operation, or the client is closed. It throws when the operation failed.
public typealias GraphQLEvents<Element: Sendable> = RequestEvents<Element, GraphQLFailure>
