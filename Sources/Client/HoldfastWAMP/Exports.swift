// `import HoldfastWAMP` also gives the app values, request options, and the socket below.
@_exported public import Holdfast
@_exported public import HoldfastCodecs
@_exported public import WAMPCore
@_exported public import WAMPSigning
