// `import HoldfastCodecs` alone also gives an app the dynamic values, their limits and their errors.
@_exported public import CodecCore
