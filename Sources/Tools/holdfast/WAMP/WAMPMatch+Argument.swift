public import ArgumentParser
public import WAMPCore

/// On the command line a way to compare has the name that it has in options of WAMP: `exact`, `prefix`, `wildcard`.
extension WAMPMatch: ExpressibleByArgument {}
