import Testing

/// Tests over real sockets run one after the other, because some measure time.
@Suite(.serialized, .timeLimit(.minutes(1))) enum SocketTests {}
