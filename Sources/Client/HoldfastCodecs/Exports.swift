// An app writes `import HoldfastCodecs` and has the values, their limits and their errors.
@_exported public import CodecCore
