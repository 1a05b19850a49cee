// Whoever runs a router needs the words of WAMP, of proofs and of servers too.
@_exported public import HoldfastServer
@_exported public import WAMPCore
@_exported public import WAMPSigning
