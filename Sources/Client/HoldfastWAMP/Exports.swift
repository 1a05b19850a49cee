// An app writes `import HoldfastWAMP` and has values, options of requests, and the socket below.
@_exported public import Holdfast
@_exported public import HoldfastCodecs
@_exported public import WAMPCore
@_exported public import WAMPSigning
