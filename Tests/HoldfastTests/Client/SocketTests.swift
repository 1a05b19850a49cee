import Testing

/// Tests over real sockets.
///
/// They run one after the other because some measure time.
@Suite(.serialized, .timeLimit(.minutes(1))) enum SocketTests {}
