#if HTTP2
    import NIOCore
    import WebSocketRuntime

    /// The HTTP/2 connections of this process that may take more WebSockets, and who is about to open one.
    final class HTTP2Pool: Sendable {
        static let shared = HTTP2Pool()

        /// How a WebSocket gets to a place.
        enum Way {
            /// By a stream of this connection; whoever gets it opens the stream, or leaves.
            case link(HTTP2Link)
            /// Somebody is opening a connection: see what comes of it.
            case wait(EventLoopFuture<Void>)
            /// By a connection of its own; whoever gets it says when it stands, or why not.
            case dial(EventLoopPromise<Void>)
            /// The server has no WebSockets over HTTP/2.
            case http1
        }

        private struct Member {
            let link: HTTP2Link
            let place: HTTP2Place
            var streams = 0
            var maximum: Int
        }
        private struct State {
            var members: [ObjectIdentifier: Member] = [:]
            /// Those of each place that take more streams, the oldest first.
            var open: [HTTP2Place: [ObjectIdentifier]] = [:]
            var dials: [HTTP2Place: EventLoopFuture<Void>] = [:]
            var onlyHTTP1: [HTTP2Place: NIODeadline] = [:]

            mutating func retire(_ id: ObjectIdentifier) {
                guard let place = members[id]?.place else { return }
                open[place]?.removeAll { $0 == id }
                if open[place]?.isEmpty == true { open[place] = nil }
            }
        }
        private let state = LockedValue(State())

        /// How long it is remembered that a place has no WebSockets over HTTP/2: servers learn.
        private static let memory = TimeAmount.minutes(10)
        private static let capacity = 1000

        /// How to get there; `mayFallBack`: also without HTTP/2.
        func way(to place: HTTP2Place, mayFallBack: Bool, on loop: any EventLoop) -> Way {
            state.withLockedValue { state in
                if mayFallBack, let until = state.onlyHTTP1[place] {
                    if NIODeadline.now() < until { return .http1 }
                    state.onlyHTTP1[place] = nil
                }
                for id in state.open[place] ?? [] {
                    guard let member = state.members[id], member.streams < member.maximum else { continue }
                    state.members[id]?.streams += 1
                    return .link(member.link)
                }
                if let dial = state.dials[place] { return .wait(dial) }
                let promise = loop.makePromise(of: Void.self)
                state.dials[place] = promise.futureResult
                return .dial(promise)
            }
        }

        /// The attempt of whoever was told to dial is over; those who wait go on, or fail for the same reason.
        func endDial(to place: HTTP2Place, _ dial: EventLoopPromise<Void>, _ error: TransportError? = nil) {
            state.withLockedValue { state in
                if state.dials[place] === dial.futureResult { state.dials[place] = nil }
            }
            if let error { dial.fail(error) } else { dial.succeed() }
        }

        /// Takes up a new connection, with one stream for who has opened it.
        func add(_ link: HTTP2Link, to place: HTTP2Place, maximum: Int) {
            state.withLockedValue { state in
                let id = ObjectIdentifier(link.channel)
                state.members[id] = Member(link: link, place: place, streams: 1, maximum: maximum)
                state.open[place, default: []].append(id)
            }
        }

        /// The server allows so many streams from now on.
        func limit(_ channel: any Channel, to maximum: Int) {
            state.withLockedValue { $0.members[ObjectIdentifier(channel)]?.maximum = maximum }
        }

        /// No more streams for a connection: the server said so, or it may be broken.
        func retire(_ channel: any Channel) { state.withLockedValue { $0.retire(ObjectIdentifier(channel)) } }

        /// A connection is over.
        func remove(_ channel: any Channel) {
            let id = ObjectIdentifier(channel)
            state.withLockedValue { state in
                state.retire(id)
                state.members[id] = nil
            }
        }

        /// A stream has ended, or was not opened; the connection ends with its last.
        func leave(_ link: HTTP2Link) {
            let id = ObjectIdentifier(link.channel)
            let isLast = state.withLockedValue { state in
                state.members[id]?.streams -= 1
                guard state.members[id]?.streams == 0 else { return false }
                state.retire(id)
                state.members[id] = nil
                return true
            }
            if isLast { link.close() }
        }

        /// Goes there without HTTP/2 for a while.
        func fallBack(at place: HTTP2Place) {
            state.withLockedValue { state in
                if state.onlyHTTP1.count >= Self.capacity { state.onlyHTTP1 = [:] }
                state.onlyHTTP1[place] = .now() + Self.memory
            }
        }
    }
#endif
