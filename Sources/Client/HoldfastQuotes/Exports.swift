// An app writes `import HoldfastQuotes` and has quotes, patterns, counts, and the socket below.
@_exported public import Holdfast
@_exported public import QuotesCore
