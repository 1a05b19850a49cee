// `import Holdfast` alone also gives an app the types of the protocol: messages, close codes, header fields.
@_exported public import struct CodecCore.PayloadPeek
@_exported public import struct MachineCore.Backoff
@_exported public import SessionCore
@_exported public import StreamCore
@_exported public import WebSocketCore
@_exported public import WebSocketRuntime

#if SwiftNIO
    @_exported public import WebSocketNIO
#endif
