// Users of the router also need the types of WAMP, of proofs and of servers.
@_exported public import HoldfastServer
@_exported public import WAMPCore
@_exported public import WAMPSigning
