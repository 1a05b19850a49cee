#if SwiftNIO
    import WebSocketRuntime

    extension FaultyLink {
        /// How long bytes take from one side to the other, each way; by default no time.
        ///
        /// A change counts for what is sent from then on. With a ``delay`` that is drawn by chance, this is its least.
        public var latency: Duration {
            get { delay.lowerBound }
            set { delay = newValue...newValue }
        }

        /// How long bytes take from one side to the other, each way, drawn anew for every piece that is read; by default no time.
        ///
        /// Nothing overtakes what was sent before. A change counts for what is sent from then on.
        public var delay: ClosedRange<Duration> {
            get { conditions.present.delay }
            set {
                let range = newValue.clamped(to: .zero...FaultLimits.longest)
                conditions.change { $0.delay = range }
            }
        }

        /// Breaks every connection at once, what is under way is lost; new ones are welcome.
        public func cut(_ ending: LinkEnding = .fin) {
            state.withLockedValue { Array($0.channels.values) }.hangUp(ending)
        }

        /// Breaks every connection once it has carried some of these many bytes, both ways counted together; nil for no limit.
        ///
        /// How many is drawn for each connection. For those that are open, it counts from now.
        public func cut(after bytes: ClosedRange<Int>?, _ ending: LinkEnding = .fin) {
            conditions.limit(bytes?.clamped(to: 1 ... .max), ending)
        }

        /// Passes nothing on from now, in both directions, and breaks nothing: a link without a signal.
        ///
        /// Neither side hears of it, not even when the other goes away. New connections are taken, and stalled as well. Nothing is lost, and
        /// little is taken: whoever sends on, has to wait.
        public func stall() { conditions.change { $0.isStalled = true } }

        /// Takes everything from now and passes nothing on in these directions: a half-open link.
        ///
        /// The other side hears nothing, not even that this one goes away. New connections are taken, and what they send is swallowed as well.
        /// A connection that has lost something stays deaf in that direction after ``resume()``, until one of its sides ends it.
        public func swallow(_ directions: LinkDirections = .both) { conditions.change { $0.swallowed = directions } }

        /// Passes everything on again, and what had waited; what was swallowed is lost.
        public func resume() {
            conditions.change { ($0.isStalled, $0.swallowed) = (false, []) }
        }

        /// Lets no more bytes a second pass, all connections together, in each of these directions; nil for no limit.
        ///
        /// At most 10 GiB a second, at least one byte. Whoever sends faster has to wait: the system's buffers fill, the link's do not.
        public func throttle(_ directions: LinkDirections = .both, to bytesPerSecond: Int?) {
            conditions.throttle(directions, to: bytesPerSecond)
        }

        /// Hangs up on whoever connects from now on.
        public func refuse() { state.withLockedValue { $0.isRefusing = true } }

        /// Welcomes new connections again.
        public func welcome() { state.withLockedValue { $0.isRefusing = false } }

        /// Ends every fault; what is broken stays broken.
        ///
        /// - Throws: `IOError` if somebody else has taken the port that was closed.
        public func heal() async throws {
            resume()
            welcome()
            delay = .zero ... .zero
            throttle(to: nil)
            cut(after: nil)
            try await openPort()
        }
    }
#endif
