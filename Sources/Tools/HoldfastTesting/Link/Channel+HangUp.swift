#if SwiftNIO
    import NIOCore

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    extension Channel {
        /// Closes the connection at once, as an end or as a reset.
        func hangUp(_ ending: LinkEnding) { [self as any Channel].hangUp(ending) }

        /// Nothing lingers: the system forgets what is not sent yet, and says so with RST.
        fileprivate func forgetWhatWaits() -> EventLoopFuture<Void> {
            (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)) ?? eventLoop.makeSucceededVoidFuture()
        }
    }

    extension [any Channel] {
        /// Closes the connections at once, as ends or as resets.
        func hangUp(_ ending: LinkEnding) {
            guard ending == .rst, let loop = first?.eventLoop else { return forEach { $0.close(promise: nil) } }
            // All are made ready before one closes: the end of one side of a link ends the other, too, and that would be no reset.
            EventLoopFuture.andAllComplete(map { $0.forgetWhatWaits() }, on: loop).whenComplete { _ in
                for channel in self { channel.close(promise: nil) }
            }
        }
    }
#endif
