// `import HoldfastProtocols` alone also gives an app the parts of a protocol and the socket.
@_exported public import Holdfast
@_exported public import MachineCore
@_exported public import ProtocolCore
