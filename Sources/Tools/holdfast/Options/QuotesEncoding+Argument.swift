public import ArgumentParser
public import HoldfastQuotes

/// On the command line an encoding has the name that ends its subprotocol: `json`, `msgpack`, `protobuf`.
extension QuotesEncoding: ExpressibleByArgument {}
