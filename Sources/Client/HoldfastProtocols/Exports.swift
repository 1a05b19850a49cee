// An app writes `import HoldfastProtocols` and has what a protocol is made of, and the socket below.
@_exported public import Holdfast
@_exported public import ProtocolCore
