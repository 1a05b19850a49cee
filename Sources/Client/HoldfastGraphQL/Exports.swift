// `import HoldfastGraphQL` also gives the app values, the errors of servers, the state of a protocol, and the socket below.
@_exported public import Holdfast
@_exported public import HoldfastCodecs
@_exported public import GraphQLCore
@_exported public import enum HoldfastProtocols.ProtocolState
@_exported public import struct HoldfastProtocols.RequestEvents
