import Holdfast
import MachineCore
import ProtocolClient
import ProtocolCore
import WebSocketRuntime
import RoomCore
import RoomsWire
import WebSocketCore

/// The socket's side of the desk.
extension RoomsDesk {
    /// The connection is no longer wanted; the code tells the hub nothing that it needs.
    static func reconnect(after pause: Duration) -> ConnectionEnd {
        .reconnect(after: pause, CloseCode(rawValue: 4098), reason: "another connection is made")
    }

    /// Takes what happens to the socket, until it ends.
    func follow(_ events: WebSocketEvents, of socket: WebSocket) async {
        var encoding: RoomsEncoding?
        for await event in events {
            switch event {
            case .opened(let opening): encoding = await open(opening, socket)
            case .message(let message):
                guard let encoding else { continue }
                receive(message, encoding)
                await pace()
            case .state(.connected): break
            case .reconnecting(_, _, let cause): change { state, now in lose(&state, now, for: cause) }
            case .state(.disconnected(let cause?)): change { state, now in lose(&state, now, for: cause) }
            case .state: change { state, now in lose(&state, now) }
            case .closed(let closure): finish(closure.error.map { .connection($0) } ?? .closed)
            case .dropped, .undecodable, .missed: break
            }
        }
        finish(.closed)
    }

    /// Tells the hub that this device leaves all rooms; waits until the connection has taken that, for a moment at most.
    ///
    /// Others would else see it for as long as one whose connection was lost.
    func sayFarewell() async {
        tell(.farewell)
        await state.withLockedValue { $0.link?.queue }?.room(below: 1, until: time.now() + Self.farewellPatience, on: time)
    }

    /// Tells the machine what the calendar says, each minute.
    func followCalendar() async {
        repeat { tell(.calendar(calendar())) } while (try? await time.sleep(time.now() + .seconds(60))) != nil
    }

    private func open(_ opening: Opening, _ socket: WebSocket) async -> RoomsEncoding? {
        let encoding = opening.subprotocol.flatMap { RoomsEncoding(subprotocol: $0) } ?? .json
        let pause = state.withLockedValue(\.awayUntil) - time.now()
        if pause > .zero {
            // The hub had ended the last connection itself, before it was known how long to stay away.
            part(Self.reconnect(after: pause), opening.connection)
            return nil
        }
        let secret: String?
        do throws(RoomsError) {
            secret = try await freshToken()
        } catch {
            // The same as a hub that does not answer: the socket's backoff decides when to try again.
            if error.isRetryable || Task.isCancelled {
                state.withLockedValue { $0.drop(for: error) }
                opening.connection.abort()
            } else {
                end(error, socket)
            }
            return nil
        }
        let queue = OutgoingQueue<ClientFrame>(opening.connection, encode: encoding.encode) { [weak self] in self?.part($0, $1) }
        change { state, now in
            lose(&state, now)
            state.link = Link(queue: queue, encoding: encoding, isAgreed: opening.subprotocol != nil)
            (state.cause, state.isDropped) = (nil, false)
            state.woken.append(changes)
            Self.tell(.calendar(calendar()), &state, now)
            Self.tell(.opened(token: secret), &state, now)
        }
        return encoding
    }

    /// There is no connection any more, or another one.
    ///
    /// - Parameter cause: Why there is none, where the socket has said it.
    func lose(_ state: inout State, _ now: Moment, for cause: WebSocketError? = nil) {
        if let cause {
            if !state.isDropped { state.cause = .connection(cause) }
            state.isDropped = false
        }
        guard let link = state.link else { return }
        _ = link.queue.close()
        (state.link, state.isOnline, state.connection) = (nil, false, nil)
        state.renewal?.cancel()
        (state.renewal, state.tokenPace) = (nil, TokenPace())
        state.woken.append(changes)
        Self.tell(.lost, &state, now)
    }

    private func receive(_ message: Message, _ encoding: RoomsEncoding) {
        do {
            guard let frame = try encoding.decodeHubFrame(message).map(hidingSecrets(in:)) else { return }
            change { state, now in
                if case .refusal(let refusal) = frame, refusal.room == nil { state.link?.refusal = refusal }
                Self.tell(.received(frame), &state, now)
            }
        } catch {
            // A hub that talks nonsense: another connection may reach one that does not.
            change { state, _ in
                guard state.link != nil else { return }
                state.drop(for: .notAHub("what it sent is no frame of the protocol"))
                state.end = Self.reconnect(after: .seconds(1))
            }
        }
    }

    /// A hub may repeat a token in the words of a refusal, which apps show.
    private func hidingSecrets(in frame: HubFrame) -> HubFrame {
        guard case .refusal(var refusal) = frame, let secrets = socket.socket?.secrets else { return frame }
        refusal.text = secrets.hiding(refusal.text)
        return .refusal(refusal)
    }

    /// Reads no further while the store has too much to do.
    private func pace() async {
        while !Task.isCancelled {
            let version = storeChanges.version
            if state.withLockedValue({ $0.orders.count < Self.storeBacklog || $0.isOver }) { return }
            await storeChanges.next(after: version)
        }
    }

    func part(_ end: ConnectionEnd, _ connection: WebSocketConnection?) {
        if end == .stop, socket.socket == nil { return finish(.closed) }
        socket.end(end, connection)
    }

    private func end(_ error: RoomsError, _ socket: WebSocket) {
        change { state, _ in
            state.ending = state.ending ?? error
            state.end = .stop
        }
    }

    // MARK: - Tokens

    /// Asks the provider; bounded, for the hub waits for its answer.
    private func freshToken() async throws(RoomsError) -> String? {
        guard let token else { return nil }
        let (answer, changes) = (LockedValue<Result<String, RoomsError>?>(nil), Changes())
        // SAFETY: cancelled when the wait is over, and then left to itself: a provider that does not heed that must not hold up the rooms.
        let asking = Task {
            let outcome: Result<String, RoomsError>
            do {
                outcome = .success(try await token())
            } catch let error as CredentialUnavailable where !error.isRetryable {
                outcome = .failure(.refused(Refusal(.token, "\(error)")))
            } catch {
                // What an error of the app's says may be secret: the address of a service with its token, say.
                outcome = .failure(.timedOut("the token (\(type(of: error)))"))
            }
            if case .success(let secret) = outcome { socket.socket?.hide(secret) }
            answer.withLockedValue { $0 = outcome }
            changes.announce()
        }
        defer { asking.cancel() }
        return try await wait(for: "the token", isLocal: true, on: changes, within: options.tokenPatience) { () throws(RoomsError) in
            try answer.withLockedValue(\.self)?.get()
        }
    }

    /// Shows a fresh token on the present connection, in time before this one ends.
    func renewToken(before expires: Int64) {
        guard expires > 0, token != nil else { return }
        change { state, now in
            state.renewal?.cancel()
            guard !state.isOver, state.link != nil, let left = state.machine?.timeLeft(until: expires, at: now) else { return }
            let pause = state.tokenPace.pause(until: expires, left: left, margin: options.tokenMargin)
            // SAFETY: holds the desk weakly; cancelled with the connection, by the next one, and at the end.
            state.renewal = Task { [weak self, time] in
                guard (try? await time.sleep(now + pause)) != nil, let token = try? await self?.freshToken(), !Task.isCancelled else {
                    return
                }
                self?.tell(.token(token))
            }
        }
    }
}
