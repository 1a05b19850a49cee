// `import HoldfastSocketIO` also gives the app dynamic values, what a server refuses, and the socket below.
@_exported public import Holdfast
@_exported public import HoldfastCodecs
@_exported public import SocketIOCore
@_exported public import struct HoldfastProtocols.RequestEvents
