import Testing

/// Tests over real sockets, one after the other: some measure time, which the others would take from them.
@Suite(.serialized, .timeLimit(.minutes(1))) enum SocketTests {}
