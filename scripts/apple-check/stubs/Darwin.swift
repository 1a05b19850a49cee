// Nothing of Darwin itself is used; the module has to exist for `#if canImport(Darwin)`.
public typealias pid_t = Int32  // man 2 getpid
